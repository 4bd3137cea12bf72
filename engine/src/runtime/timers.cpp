#include "runtime/runtime.hpp"

#include <corewise/engine/deadline.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/policies/origin.hpp>

#include <functional>
#include <stdexcept>
#include <thread>

// An engine's timers: setting, cancelling and their handles.

namespace corewise {

using detail::this_execution;

namespace {

std::int64_t to_ns(detail::monotonic::time_point t) noexcept { return t.time_since_epoch().count(); }

} // namespace

// --- setting and cancelling

group_id runtime::group_here() const noexcept {
  const detail::execution& here = this_execution;
  if (here.engine == this && here.seat != nullptr) return here.seat->place().group;
  if (machine_.is_this_system())
    if (const auto cpu = this_cpu())
      if (const auto origin = origin_from_cpu(groups_, *cpu)) return origin->group;
  const std::size_t mixed = std::hash<std::thread::id>{}(std::this_thread::get_id());
  return {static_cast<std::uint32_t>(mixed % groups_.size())};
}

group_id runtime::timer_home(const detail::resumption& coroutine) const noexcept {
  const detail::worker* seat = this_execution.seat != nullptr ? this_execution.seat : coroutine.root->last;
  return seat != nullptr ? seat->place().group : group_here();
}

bool runtime::cancel_timer(detail::timer_node& t) noexcept {
  return !after_process_fork() && timers_->watch().of({t.group}).cancel(t);
}

timer runtime::call_later(detail::scheduled* call, std::chrono::nanoseconds first,
                          std::chrono::nanoseconds period, detail::scheduled::on_set before) {
  using outcome = detail::timer_group::outcome;
  timer handle(call, weak_from_this());
  const std::int64_t now_ns = to_ns(detail::monotonic::now());
  call->engine = this;
  call->period_ns = period.count();
  call->node.deadline_ns = detail::timer_group::later(now_ns, std::max<std::int64_t>(0, first.count()));
  call->phase = this_execution.phase; // the phase of its task, when it is inside one
  const auto open = [&] { return call->inside ? !ended() : now() == stage::open; };
  if (!after_process_fork() && open()) {
    call->node.group = group_here().value;
    if (before != nullptr) before(*call, weak_from_this());
    const outcome it_is = timers_->set(call->node, now_ns);
    if (it_is == outcome::stopped) call->release();
    if (it_is != outcome::closed) return handle;
  }
  call->abandon();
  return {};
}

// --- what is due

void detail::scheduled::end() noexcept {
  if (engine->after_process_fork()) return; // the locks of its timers may be held for ever
  if (period_ns != 0) return engine->timers().beat_again(*this);
  state.store(progress::ended, std::memory_order_relaxed);
  release();
}

// --- handles

bool timer::cancel() noexcept { return call_ != nullptr && detail::cancel(*call_, engine_); }

bool detail::cancel(scheduled& call, const std::weak_ptr<runtime>& of) noexcept {
  using progress = scheduled::progress;
  const std::shared_ptr<runtime> engine = of.lock();
  if (engine == nullptr || engine->after_process_fork()) return false;
  progress seen = call.state.load(std::memory_order_relaxed);
  do {
    if (seen == progress::cancelled || seen == progress::ended) return false;
    if (seen == progress::running && call.period_ns == 0) return false;
  } while (!call.state.compare_exchange_weak(seen, progress::cancelled,
                                             std::memory_order_acq_rel, // pairs: again
                                             std::memory_order_relaxed));
  if (seen == progress::waiting && engine->cancel_timer(call.node)) call.release();
  return true;
}

detail::stop_timer::stop_timer(std::chrono::nanoseconds d, std::stop_source source) {
  if (this_execution.root == nullptr)
    throw std::logic_error("with_deadline outside of an engine's coroutines: no engine keeps the time");
  auto stop = [source = std::move(source)]() mutable { source.request_stop(); };
  scheduled* const call = scheduled_call<decltype(stop)>::make(std::move(stop));
  call->inside = true;
  timer_ = this_execution.root->engine->call_later(call, d, {});
}

timer engine::call_later(detail::scheduled* call, std::chrono::nanoseconds first,
                         std::chrono::nanoseconds period, detail::scheduled::on_set before) {
  return runtime_->call_later(call, first, period, before);
}

} // namespace corewise
