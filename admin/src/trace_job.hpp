#pragma once

#include "answers.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

namespace corewise::admin {

/// A trace that an operator asked for.
struct wanted_trace {
  std::chrono::milliseconds time{1000};
  bool json = false; ///< else Perfetto's own format
};

/// Returns what `/trace?seconds=5&format=json` asks for, or why it is none.
std::variant<wanted_trace, std::string> read_wanted_trace(std::string_view query);

/// Takes a trace on a thread of its own, so that other requests are answered meanwhile.
class trace_job {
 public:
  /// Calls `ended` once from that thread: when the trace is there, or soon after `stop`. Throws `std::system_error`,
  /// `std::bad_alloc`.
  trace_job(const engine& e, wanted_trace wanted, std::function<void()> ended);
  trace_job(const trace_job&) = delete;
  trace_job& operator=(const trace_job&) = delete;
  /// Stops it, and waits for its thread: for milliseconds, or where events are being sorted, up to a second or so. Call
  /// after `ended`, or where that wait holds up nothing else: `ended` may then never be called.
  ~trace_job();

  /// Has the job end early: its trace is not wanted any more. Does not wait. Call from any thread.
  void stop() noexcept { thread_.request_stop(); }
  /// Returns the answer with the trace. Call once, after `ended`, and not after `stop`.
  response take();

 private:
  std::string file(const std::stop_token& stop) const;
  void run(const std::stop_token& stop) noexcept;

  const engine& engine_;
  const wanted_trace wanted_;
  const std::function<void()> ended_;
  std::atomic<bool> unwatched_{false}; // nothing waits for the end any more; relaxed: it publishes nothing
  std::string file_;                   // empty: there was no memory
  std::jthread thread_;                // last: it uses the others
};

} // namespace corewise::admin
