#include "runtime/runtime.hpp"
#include "runtime/wanted_workers.hpp"

#include <algorithm>

namespace corewise {

namespace {

apply_result stopping() { return {.refused = {{"", "the engine is shutting down"}}}; }

} // namespace

apply_result runtime::apply(profile next) {
  if (after_process_fork()) return {.refused = {}, .in_child = true};
  if (std::vector<profile_issue> issues = check_profile(next); !issues.empty())
    throw profile_error(std::move(issues));
  next.workers.quota_part = settings_.workers.quota_part; // no profile of a file has it
  bool calls = false;
  {
    const std::scoped_lock lock(apply_mutex_);
    if (now() != stage::open) return stopping();
    std::vector<std::uint32_t> workers;
    if (apply_result result{detail::what_it_cannot(*this, next, host_.in_force(), workers)};
        !result.applied())
      return result;
    if (!let_more_take(workers))
      return {.refused = {{detail::workers_key(next), std::string(detail::no_more_workers)}}};
    calls = put_in_force(std::move(next), workers, speeds_at(host_.in_force()));
  }
  if (calls) supervisor_.call();
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

/// Changes, in this order: the active workers; the words that are read behind fences; the rules that each
/// worker takes in its own time. Then it makes every worker look up once. So a worker that has taken the
/// rules knows whether it is active, and a worker that sleeps under older rules does not stay asleep. Call with the lock
/// of `apply` held. Returns whether to call the supervisor, without the lock. Throws `std::bad_alloc`; then nothing has
/// changed.
bool runtime::put_in_force(profile next, std::span<const std::uint32_t> workers,
                           std::span<const std::uint32_t> speeds) {
  auto made = std::make_unique<const detail::rules>(std::move(next), groups_, layout_, speeds);
  const detail::rules& in_force = *made; // not replaced while the lock is held
  rules_.make_room();
  set_active(workers);
  for (std::size_t g = 0; g < group_states_.size(); ++g)
    group_states_[g]->set_speed(speeds.empty() ? 100 : speeds[g]);
  idle_->set(in_force.settings);
  waits_when_full_.store(in_force.settings.limits.on_full == full_action::wait, std::memory_order_relaxed);
  if (limit_.counts()) limit_.change(in_force.settings.limits.in_flight); // and its waiters look at both
  blocking_calls_.change(in_force.settings);
  resumptions_return_.store(in_force.placing->returns(), std::memory_order_relaxed);
  rules_.replace(std::move(made));
  const bool calls = supervisor_.set(in_force.settings);
  threads_.look_again(); // for a shorter time as spares, and fewer of them
  idle_->wake_all();
  rules_.reclaim([this](const auto& f) { for_each_holder(f); });
  return calls;
}

/// Lets all take from a worker that began alone (ADR 0038), if more workers are to take part than began. Returns false if
/// the kernel refuses the barrier for that, which it had at the start: then there can be no more. Call before
/// `put_in_force`, with the lock of `apply` held.
bool runtime::let_more_take(std::span<const std::uint32_t> workers) noexcept {
  const bool more = std::ranges::any_of(groups_.groups(), [&](const locality_group& g) {
    return workers[g.id.value] > layout_.at_begin(g.id);
  });
  return !more ||
         std::ranges::all_of(seats_, [](detail::worker* seat) { return seat->queues().takers.share(); });
}

/// More workers first: meanwhile there is always one.
void runtime::set_active(std::span<const std::uint32_t> workers) noexcept {
  for (const bool more : {true, false})
    for (std::size_t g = 0; g < workers.size(); ++g)
      if ((workers[g] > boards_[g]->active.load(std::memory_order_relaxed)) == more)
        boards_[g]->active.store(workers[g], std::memory_order_seq_cst); // pairs: shown
  show_seats();
}

/// Writes to the boards which workers take part.
void runtime::show_seats() noexcept {
  for (detail::worker* seat : seats_) {
    show_availability(*seat);
    publish_load(seat->place());
  }
}

profile runtime::configuration() const {
  if (after_process_fork())
    return rules_.newest()->settings; // the lock may be held for ever, and no thread replaces them
  return rules_.read([](const detail::rules& r) { return r.settings; });
}

/// Returns how many older rules are still in use. A holder that lets go during the look for holders does not
/// learn that it was the last one. So this function looks once more.
std::size_t runtime::outdated_rules() const noexcept {
  if (rules_.old() != 0) forget_old_rules();
  return rules_.old();
}

} // namespace corewise
