#include "runtime/runtime.hpp"
#include "worker/decoded_trace.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/trace.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace corewise {

using namespace std::chrono_literals;

namespace {

constexpr auto between_collections = 2ms;

} // namespace

class trace_session::state {
 public:
  state(detail::engine_number of, std::size_t most) : session_(of, most) {}

  bool collect() { return session_.collect(); }
  bool full() const noexcept { return session_.full(); }
  engine_trace finish() {
    session_.collect();
    return detail::decoded(session_);
  }

 private:
  detail::recording_session session_;
};

trace_session::trace_session(const engine& e, std::size_t most_events)
    : state_(std::make_unique<state>(e.runtime_->number(), most_events)) {}
trace_session::~trace_session() = default;

bool trace_session::collect() { return state_->collect(); }
bool trace_session::full() const noexcept { return state_->full(); }
engine_trace trace_session::finish() { return state_->finish(); }

void trace_session::collect_for(any_duration d, const std::stop_token& stop) {
  const detail::monotonic::time_point until = later(detail::monotonic::now(), d);
  bool many = false;
  for (auto now = detail::monotonic::now(); now < until && !full() && !stop.stop_requested();
       now = detail::monotonic::now()) {
    if (!many) detail::sleep_for(std::min<std::chrono::nanoseconds>(until - now, between_collections));
    many = collect();
  }
}

engine_trace engine::trace(any_duration d, std::size_t most_events) const {
  if (this_worker())
    throw std::logic_error("engine::trace on one of its workers; call it within corewise::blocking");
  if (runtime_->after_process_fork()) return {};
  trace_session session(*this, most_events);
  session.collect_for(d);
  return session.finish();
}

} // namespace corewise
