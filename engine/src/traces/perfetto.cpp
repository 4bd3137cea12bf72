#include "base/utf8.hpp"
#include "traces/picture.hpp"

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>
#include <unistd.h>

#include <ctime>
#include <utility>

// Source: Perfetto, protos/perfetto/trace/ (track_event.proto and what it is sent in). tests/engine/traces/perfetto.proto
// has the fields that are used.

namespace corewise {

namespace {

using detail::trace_mark;
using protozero::pbf_writer;

// The fields, by message.
namespace trace {
constexpr auto packet = 1;
}
namespace packet {
constexpr auto clock_snapshot = 6;
constexpr auto timestamp = 8;
constexpr auto sequence = 10;
constexpr auto track_event = 11;
constexpr auto interned = 12;
constexpr auto sequence_flags = 13;
constexpr auto defaults = 59;
constexpr auto track = 60;
} // namespace packet
namespace snapshot {
constexpr auto clock = 1;
constexpr auto primary = 2;
constexpr auto clock_id = 1;
constexpr auto clock_time = 2;
} // namespace snapshot
namespace defaults {
constexpr auto clock_id = 58;
}
namespace interned {
constexpr auto event_name = 2;
constexpr auto id = 1;
constexpr auto text = 2;
} // namespace interned
namespace track {
constexpr auto uuid = 1;
constexpr auto name = 2;
constexpr auto process = 3;
constexpr auto thread = 4;
constexpr auto parent = 5;
constexpr auto counter = 8;
constexpr auto process_id = 1;
constexpr auto process_name = 6;
constexpr auto thread_process = 1;
constexpr auto thread_id = 2;
constexpr auto thread_name = 5;
} // namespace track
namespace event {
constexpr auto type = 9;
constexpr auto name_id = 10;
constexpr auto of_track = 11;
constexpr auto name = 23;
constexpr auto counter_value = 30;
constexpr auto flow = 47;
constexpr auto flow_end = 48;
constexpr auto slice_begin = 1;
constexpr auto slice_end = 2;
constexpr auto instant = 3;
constexpr auto counter = 4;
} // namespace event

constexpr std::uint32_t sequence = 1;
constexpr std::uint32_t state_cleared = 1; // sequence_flags
constexpr std::uint32_t needs_state = 2;
constexpr std::uint32_t boottime = 6; // clocks
constexpr std::uint32_t monotonic = 3;

constexpr std::uint64_t process_track = 1;
constexpr std::uint64_t first_thread_track = std::uint64_t{1} << 20;
constexpr std::uint64_t first_counter_track = std::uint64_t{2} << 20;

std::uint64_t nanoseconds_of(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

class perfetto_writer {
 public:
  explicit perfetto_writer(const engine_trace& of) : of_(of) {}

  /// Says which clocks there are, and that times are of the monotonic one.
  void begin(const std::vector<std::string>& names) {
    one_packet([](pbf_writer& p) {
      pbf_writer clocks(p, packet::clock_snapshot);
      for (const auto& [id, clock] :
           {std::pair(monotonic, CLOCK_MONOTONIC), std::pair(boottime, CLOCK_BOOTTIME)}) {
        pbf_writer one(clocks, snapshot::clock);
        one.add_uint32(snapshot::clock_id, id);
        one.add_uint64(snapshot::clock_time, nanoseconds_of(clock));
      }
      clocks.add_uint32(snapshot::primary, monotonic);
    });
    one_packet([&](pbf_writer& p) {
      p.add_uint32(packet::sequence_flags, state_cleared);
      pbf_writer(p, packet::defaults).add_uint32(defaults::clock_id, monotonic);
      pbf_writer all(p, packet::interned);
      for (std::uint64_t i = 0; i < names.size(); ++i) {
        pbf_writer one(all, interned::event_name);
        one.add_uint64(interned::id, i + 1); // 0: none
        one.add_string(interned::text, names[i]);
      }
    });
  }

  void add_tracks(const std::vector<std::uint32_t>& workers) {
    track(process_track, [&](pbf_writer& t) {
      pbf_writer process(t, track::process);
      process.add_int32(track::process_id, pid_);
      process.add_string(track::process_name, detail::in_utf8(::program_invocation_short_name));
    });
    for (std::uint32_t i = 0; i < of_.threads.size(); ++i)
      track(first_thread_track + i, [&](pbf_writer& t) {
        t.add_uint64(track::parent, process_track);
        pbf_writer thread(t, track::thread);
        thread.add_int32(track::thread_process, pid_);
        thread.add_int32(track::thread_id, static_cast<std::int32_t>(of_.threads[i].id));
        const std::string name = detail::in_utf8(of_.threads[i].name);
        thread.add_string(track::thread_name,
                          name.empty() ? fmt::format("thread {}", of_.threads[i].id) : name);
      });
    for (const std::uint32_t w : workers)
      track(first_counter_track + w, [&](pbf_writer& t) {
        t.add_string(track::name, fmt::format("load of worker {}", w));
        t.add_uint64(track::parent, process_track);
        t.add_message(track::counter, std::string());
      });
  }

  void add(const trace_mark& m) {
    one_packet([&](pbf_writer& p) {
      p.add_uint64(packet::timestamp, static_cast<std::uint64_t>(m.at.count()));
      p.add_uint32(packet::sequence_flags, needs_state);
      pbf_writer e(p, packet::track_event);
      if (m.what == trace_mark::sort::counter) {
        e.add_enum(event::type, event::counter);
        e.add_uint64(event::of_track, first_counter_track + m.thread);
        e.add_int64(event::counter_value, m.value);
        return;
      }
      e.add_enum(event::type, m.what == trace_mark::sort::begin ? event::slice_begin
                              : m.what == trace_mark::sort::end ? event::slice_end
                                                                : event::instant);
      if (m.what != trace_mark::sort::end) e.add_uint64(event::name_id, std::uint64_t{m.name} + 1);
      e.add_uint64(event::of_track, first_thread_track + m.thread);
      if (m.leads != 0) e.add_fixed64(event::flow, m.leads);
      for (const std::uint64_t arrow : m.arrives)
        if (arrow != 0) e.add_fixed64(event::flow_end, arrow);
    });
  }

  /// Writes on the track of the process what the trace has not.
  void add_missing(const std::string& what) {
    one_packet([&](pbf_writer& p) {
      if (!of_.events.empty())
        p.add_uint64(packet::timestamp, static_cast<std::uint64_t>(of_.events.back().at.count()));
      p.add_uint32(packet::sequence_flags, needs_state);
      pbf_writer e(p, packet::track_event);
      e.add_enum(event::type, event::instant);
      e.add_uint64(event::of_track, process_track);
      e.add_string(event::name, what);
    });
  }

  std::string finish() { return std::move(out_); }

 private:
  template <class F> void one_packet(const F& fill) {
    pbf_writer file(out_);
    pbf_writer p(file, trace::packet);
    p.add_uint32(packet::sequence, sequence);
    fill(p);
  }
  template <class F> void track(std::uint64_t uuid, const F& fill) {
    one_packet([&](pbf_writer& p) {
      pbf_writer t(p, packet::track);
      t.add_uint64(track::uuid, uuid);
      fill(t);
    });
  }

  const engine_trace& of_;
  const int pid_ = ::getpid();
  std::string out_;
};

} // namespace

std::string engine_trace::to_perfetto(const std::stop_token& stop) const {
  const detail::trace_picture picture(*this);
  perfetto_writer out(*this);
  out.begin(picture.names);
  out.add_tracks(picture.workers);
  for (const trace_mark& m : picture.marks) {
    if (stop.stop_requested()) return {};
    out.add(m);
  }
  if (!picture.missing.empty()) out.add_missing(picture.missing);
  return out.finish();
}

} // namespace corewise
