#include "worker/decoded_trace.hpp"

#include "base/demangled.hpp"
#include "base/function_name.hpp"
#include "worker/task_event.hpp"
#include "worker/task_label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace corewise {

namespace detail {

namespace {

constexpr std::size_t longest_symbol = 65'536;

/// Returns the kernel's name of a thread of this process; empty: there is no such thread any more.
std::string name_of_thread(std::uint32_t id) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", id));
  std::string name;
  std::getline(file, name);
  return name;
}

/// Makes a trace of the events of one engine.
class decoder {
 public:
  explicit decoder(std::chrono::nanoseconds since) : since_(since) {}

  /// Adds the events of one ring.
  void add(const std::vector<event_ring::event>& events, const recording_session& from) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const event_head head = event_head::of(events[i][1]);
      if (!known(head.what)) continue;
      const auto at = std::chrono::nanoseconds{from.monotonic_ns(events[i][0])};
      if (at < since_) continue;
      trace_event e = made_of(events[i], head);
      e.at = at;
      if (head.what == event_code::begun) e.text = text_of(events, i, head);
      out_.events.push_back(e);
    }
  }

  engine_trace finish() {
    std::ranges::stable_sort(out_.events, {}, &trace_event::at);
    note_waits();
    for (trace_thread& t : out_.threads) t.name = name_of_thread(t.id);
    return std::move(out_);
  }

 private:
  /// Notes for what suspended tasks waited: the thread that ends a wait says it. It may do so before the worker has
  /// said that the task is suspended.
  void note_waits() {
    struct part {
      trace_event* suspended = nullptr;
      std::optional<wait_kind> waited;
    };
    std::unordered_map<std::uint64_t, part> last; // by task
    for (trace_event& e : out_.events) {
      if (e.what == trace_event::kind::begun || e.what == trace_event::kind::ended) {
        last.erase(e.task);
      } else if (e.what == trace_event::kind::suspended) {
        part& of = last[e.task];
        e.waited = std::exchange(of.waited, std::nullopt);
        of.suspended = e.waited ? nullptr : &e;
      } else if (e.what == trace_event::kind::queued && e.waited) {
        part& of = last[e.task];
        if (of.suspended != nullptr)
          std::exchange(of.suspended, nullptr)->waited = e.waited;
        else
          of.waited = e.waited;
      }
    }
  }

  /// Returns whether an event is one of its own, not a part of the one before it.
  static bool known(event_code what) noexcept {
    return what >= event_code::queued && what <= event_code::load;
  }

  static constexpr trace_event::kind kind_of(event_code what) noexcept {
    return static_cast<trace_event::kind>(static_cast<int>(what) - static_cast<int>(event_code::queued));
  }

  trace_event made_of(const event_ring::event& from, const event_head& head) {
    trace_event e;
    e.what = kind_of(head.what);
    e.thread = thread_of(head.thread);
    e.task = from[2];
    if (head.what == event_code::begun)
      e.worker = head.value >> 2;
    else if (head.what != event_code::queued)
      e.worker = head.value;
    if (head.what == event_code::stolen) {
      e.distance = static_cast<level>(from[3] & 255);
      e.count = from[3] >> 8;
    } else if (head.what == event_code::polled || head.what == event_code::load) {
      e.count = from[3];
    } else if (head.what == event_code::queued && from[3] != 0) {
      e.waited = static_cast<wait_kind>(from[3] - 1);
    }
    return e;
  }

  std::uint32_t thread_of(std::uint32_t id) {
    const auto [at, is_new] = threads_.try_emplace(id, static_cast<std::uint32_t>(out_.threads.size()));
    if (is_new) out_.threads.push_back({id, {}});
    return at->second;
  }

  /// Returns the place of the text of the task that event i has begun. Its name and id follow it.
  std::uint32_t text_of(const std::vector<event_ring::event>& events, std::size_t i, const event_head& head) {
    std::string name;
    trace_id id;
    for (std::size_t next = i + 1; next < events.size(); ++next) {
      const event_ring::event& e = events[next];
      const event_code what = event_head::of(e[1]).what;
      if (what == event_code::name) {
        std::array<char, 24> part{};
        std::memcpy(part.data(), &e[0], 8);
        std::memcpy(part.data() + 8, &e[2], 16);
        name.append(part.data(), ::strnlen(part.data(), part.size()));
      } else if (what == event_code::id) {
        id = {e[0], e[2]};
      } else {
        break;
      }
    }
    const std::string text =
        task_text(kind_text_of(static_cast<kind_word>(head.value & 3), events[i][3]), name, id);
    const auto [at, is_new] = texts_.try_emplace(text, static_cast<std::uint32_t>(out_.texts.size()));
    if (is_new) out_.texts.push_back(text);
    return at->second;
  }

  const std::string& kind_text_of(kind_word how, std::uint64_t word) {
    const auto [at, is_new] = kinds_.try_emplace(std::pair(how, word));
    if (is_new) at->second = find_kind(how, word);
    return at->second;
  }

  static std::string find_kind(kind_word how, std::uint64_t word) {
    // The module that had the function or the text may be gone, and another in its place: it is not called.
    // NOLINTBEGIN(performance-no-int-to-ptr): the words of an event
    if (how == kind_word::resume) return coroutine_name(reinterpret_cast<const void*>(word));
    if (how == kind_word::text)
      return kind_text(constant_text(reinterpret_cast<const char*>(word), longest_symbol).c_str());
    // NOLINTEND(performance-no-int-to-ptr)
    return "coroutine";
  }

  const std::chrono::nanoseconds since_;
  engine_trace out_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::map<std::pair<kind_word, std::uint64_t>, std::string> kinds_;
};

} // namespace

static_assert(static_cast<int>(event_code::load) - static_cast<int>(event_code::queued) ==
              static_cast<int>(trace_event::kind::load));
static_assert(static_cast<int>(event_code::stolen) - static_cast<int>(event_code::queued) ==
              static_cast<int>(trace_event::kind::stolen));

engine_trace decoded(const recording_session& from, std::chrono::nanoseconds since) {
  decoder out(since);
  for (const auto& t : from.tracks()) out.add(t.events, from);
  engine_trace made = out.finish();
  made.lost = from.lost();
  made.full = from.full();
  return made;
}

} // namespace detail

} // namespace corewise
