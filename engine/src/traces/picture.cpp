#include "traces/picture.hpp"

#include "base/utf8.hpp"

#include <corewise/topology/costs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace corewise::detail {

namespace {

using kind = trace_event::kind;
using sort = trace_mark::sort;

/// Draws events in the order of their times.
class drawing {
 public:
  drawing(const engine_trace& of, trace_picture& to) : to_(to), open_(of.threads.size()) {
    for (const std::string& text : of.texts) to_.names.push_back(in_utf8(text));
  }

  void draw(const trace_event& e) {
    switch (e.what) {
    case kind::queued: point(e, name("queued"), queued_); break;
    case kind::stolen:
      point(e,
            name(fmt::format("steal {} from worker {}, {}", e.count, e.worker,
                             machine_costs::name_of(e.distance))),
            stolen_);
      break;
    case kind::begun: begin_task(e); break;
    case kind::suspended:
      if (e.waited)
        mark({.at = e.at, .thread = e.thread, .name = name(fmt::format("waits: {}", to_string(*e.waited)))});
      close(e.thread, e.at);
      break;
    case kind::ended: close(e.thread, e.at); break;
    case kind::parked:
      close(e.thread, e.at);
      open(e.thread, e.at, name("asleep"));
      break;
    case kind::woken: close(e.thread, e.at); break;
    case kind::blocking:
      if (open_[e.thread].size() == 1) open(e.thread, e.at, name("blocking"));
      break;
    case kind::unblocked:
      if (open_[e.thread].size() == 2) close_last(e.thread, e.at);
      break;
    case kind::polled:
      mark({.at = e.at, .thread = e.thread, .name = name(fmt::format("{} events ready", e.count))});
      break;
    case kind::load:
      if (std::ranges::find(to_.workers, e.worker) == to_.workers.end()) to_.workers.push_back(e.worker);
      mark({.at = e.at,
            .value = static_cast<std::int64_t>(e.count),
            .thread = e.worker,
            .what = sort::counter});
      break;
    }
  }

  void finish(std::chrono::nanoseconds at) {
    for (std::uint32_t t = 0; t < open_.size(); ++t) close(t, at);
  }

 private:
  using starts =
      std::unordered_map<std::uint64_t, std::size_t>; // of a task: the point where it was queued, or stolen

  trace_mark& mark(trace_mark m) { return to_.marks.emplace_back(m); }
  void point(const trace_event& e, std::uint32_t of_name, starts& from) {
    from[e.task] = to_.marks.size();
    mark({.at = e.at, .thread = e.thread, .name = of_name});
  }
  trace_mark& open(std::uint32_t thread, std::chrono::nanoseconds at, std::uint32_t of_name) {
    open_[thread].push_back(of_name);
    return mark({.at = at, .thread = thread, .name = of_name, .what = sort::begin});
  }
  void close_last(std::uint32_t thread, std::chrono::nanoseconds at) {
    const std::uint32_t closed = open_[thread].back();
    open_[thread].pop_back();
    mark({.at = at, .thread = thread, .name = closed, .what = sort::end});
  }
  /// Closes what is open on a track. Where events were lost, a slice begins before the one before it has ended.
  void close(std::uint32_t thread, std::chrono::nanoseconds at) {
    while (!open_[thread].empty()) close_last(thread, at);
  }
  void begin_task(const trace_event& e) {
    close(e.thread, e.at);
    std::array<std::uint64_t, 2> arrives{};
    arrives[0] = arrow_from(queued_, e.task);
    arrives[1] = arrow_from(stolen_, e.task);
    open(e.thread, e.at, e.text).arrives = arrives;
  }
  /// Draws the beginning of an arrow where the task was queued, or stolen, last. Returns its number; 0: that is not in
  /// the trace.
  std::uint64_t arrow_from(starts& from, std::uint64_t task) {
    const auto at = from.find(task);
    if (at == from.end()) return 0;
    to_.marks[at->second].leads = ++arrows_;
    from.erase(at);
    return arrows_;
  }
  std::uint32_t name(std::string text) {
    const auto [at, is_new] =
        names_.try_emplace(std::move(text), static_cast<std::uint32_t>(to_.names.size()));
    if (is_new) to_.names.push_back(at->first);
    return at->second;
  }

  trace_picture& to_;
  std::vector<std::vector<std::uint32_t>> open_; // by thread: the names of its open slices
  starts queued_;
  starts stolen_;
  std::uint64_t arrows_ = 0;
  std::unordered_map<std::string, std::uint32_t> names_; // those that are not of the trace
};

} // namespace

trace_picture::trace_picture(const engine_trace& of) {
  drawing all(of, *this);
  for (const trace_event& e : of.events) all.draw(e);
  all.finish(of.events.empty() ? std::chrono::nanoseconds{0} : of.events.back().at);
  if (of.full)
    missing = fmt::format("the trace is full after {} events: it has nothing from here on", of.events.size());
  if (of.lost != 0) missing += fmt::format("{}{} events lost", of.full ? "; " : "", of.lost);
}

} // namespace corewise::detail
