#pragma once

#include <corewise/engine/fwd.hpp>
#include <corewise/engine/suspended.hpp>
#include <corewise/policies/any_duration.hpp>
#include <corewise/topology/groups.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace corewise {

/// An action of a thread at one moment.
struct trace_event {
  enum class kind : std::uint8_t {
    queued,    ///< a task: from here on it waits for a worker
    begun,     ///< a task, or one that goes on
    ended,     ///< a task
    suspended, ///< a task: it waits for something else, or has yielded
    stolen,    ///< tasks, from another worker; `task` is the one that runs next
    parked,    ///< the worker sleeps
    woken,
    blocking, ///< the task calls what may block (`blocking`)
    unblocked,
    polled, ///< events of a driver were ready
    load,   ///< the worker's load, at the end of each of its ticks
  };
  static constexpr std::uint32_t none = UINT32_MAX;

  std::chrono::nanoseconds at{0}; ///< of the monotonic clock
  /// The same in all events of a task from its queueing to its end, and of no other task meanwhile; 0: none.
  std::uint64_t task = 0;
  std::uint64_t count = 0;     ///< tasks that were `stolen`, events that were `polled`, the `load`
  std::uint32_t thread = 0;    ///< its place in `engine_trace::threads`
  std::uint32_t worker = none; ///< the worker on whose seat the thread is; of `stolen` the victim
  std::uint32_t text = none;   ///< of `begun`: the task's place in `engine_trace::texts`
  kind what = kind::queued;
  level distance = level::same_group; ///< to the victim, of `stolen`
  /// Of `suspended`, and of `queued` where the task goes on: for what it waited. None: it has yielded, slept or waited
  /// for its children; or, of `suspended`, it still waits at the end of the trace.
  std::optional<wait_kind> waited = {};
};

struct trace_thread {
  std::uint32_t id = 0; ///< the kernel's
  std::string name;     ///< empty: the thread has ended
};

/// The actions of an engine's threads, and of those that submit to it, in some time.
struct engine_trace {
  std::vector<trace_thread> threads;
  std::vector<std::string> texts;  ///< tasks for people: kind, name and id (`seat_dump`)
  std::vector<trace_event> events; ///< in the order of their times
  std::uint64_t lost = 0;          ///< events that came faster than they were collected
  bool full = false; ///< there were more events than asked for; those that came later are not there

  /// Returns the trace for <https://ui.perfetto.dev>, in its own format: threads are tracks, tasks are slices on them,
  /// and arrows lead from where a task was queued or stolen to where it began. Returns an empty text where a stop is
  /// requested meanwhile. Cost: seconds for a million events. Throws `std::bad_alloc`.
  std::string to_perfetto(const std::stop_token& stop = {}) const;
  /// Returns the same as JSON (Trace Event Format), which Perfetto and other programs read.
  std::string to_json(const std::stop_token& stop = {}) const;
};

/// Has all threads of an engine record what they do, while it lives. For one thread at a time; `engine::trace` is
/// simpler. Each thread has room for 8192 events, 256 KB, so call `collect` every few ms.
class trace_session {
 public:
  /// Keeps `most_events`, 32 bytes each. `e` must outlive the session. Throws `std::bad_alloc`.
  explicit trace_session(const engine& e, std::size_t most_events = default_events);
  trace_session(const trace_session&) = delete;
  trace_session& operator=(const trace_session&) = delete;
  ~trace_session();

  static constexpr std::size_t default_events = 1'000'000;

  /// Copies what threads have recorded since the last call. Returns whether that was so much that the next call should
  /// come at once. Throws `std::bad_alloc`.
  bool collect();
  /// Collects for that time, every few ms; ends sooner when a stop is requested, or the session is full. Throws
  /// `std::bad_alloc`.
  void collect_for(any_duration d, const std::stop_token& stop = {});
  /// Returns whether the session keeps no more events.
  bool full() const noexcept;
  /// Collects what is left, and returns all of it. Cost: for each kind of task that is a coroutine, a search through
  /// the symbols of its file. Throws `std::bad_alloc`.
  engine_trace finish();

 private:
  class state;
  std::unique_ptr<state> state_;
};

} // namespace corewise
