#include "profile/live_change.hpp"
#include "runtime/runtime.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace corewise {

namespace {

apply_result stopping() { return {{{"", "the engine is shutting down"}}}; }

const char* workers_key(const profile& p) { return p.workers.total ? "workers.total" : "workers.per_group"; }

} // namespace

apply_result runtime::apply(profile next) {
  if (after_process_fork()) return stopping();
  if (std::vector<profile_issue> issues = check_profile(next); !issues.empty())
    throw profile_error(std::move(issues));
  next.workers.quota_part = settings_.workers.quota_part; // no profile of a file has it
  const std::scoped_lock lock(apply_mutex_);
  if (now() != stage::open) return stopping();
  std::vector<std::uint32_t> workers;
  if (apply_result result{what_it_cannot(next, workers)}; !result.applied()) return result;

  put_in_force(std::move(next), workers, speeds_at(host_.in_force()));
  reloads_.fetch_add(1, std::memory_order_relaxed);
  return {};
}

/// Changes, in this order: the active workers; the words that are read behind fences; the rules that each
/// worker takes in its own time. Then it makes every worker look up once. So a worker that has taken the
/// rules knows whether it is active, and a worker that sleeps under older rules does not stay asleep. Call with the lock
/// of `apply` held. Throws `std::bad_alloc`; then nothing has changed.
void runtime::put_in_force(profile next, std::span<const std::uint32_t> workers,
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
  supervisor_.set(in_force.settings);
  idle_->wake_all();
  rules_.reclaim([this](const auto& f) { for_each_holder(f); });
}

/// Returns why `next` needs a restart, if it does; else puts the number of workers that `next` asks for into
/// `workers`, by group.
std::vector<apply_result::reason> runtime::what_it_cannot(const profile& next,
                                                          std::vector<std::uint32_t>& workers) const {
  std::vector<apply_result::reason> reasons = detail::what_needs_a_restart(settings_, next);
  if (!limit_.counts() && next.limits.in_flight != 0)
    reasons.push_back(
        {"limits.in_flight", fmt::format("found {}; an engine that began without a limit does not count its "
                                         "tasks, and takes no limit until a restart",
                                         next.limits.in_flight)});
  try {
    workers = wanted_workers(next, host_.in_force());
    const worker_options asked = worker_options_of(next, start_cpu_);
    if (!asked.total && !asked.per_group) return reasons; // as many as there are seats
    const std::vector<std::uint32_t> by_number =
        worker_counts(machine_, groups_, asked, {machine_.cpus(), {}, std::nullopt});
    std::vector<std::uint32_t> with_seats = by_number;
    if (fit(with_seats, asked.total ? &machine_.cpus() : nullptr) == 0) return reasons;
    const auto g = std::ranges::find_if(groups_.groups(), [&](const locality_group& group) {
      return by_number[group.id.value] > layout_.of_group(group.id).size();
    });
    reasons.push_back({workers_key(next),
                       fmt::format("found {} workers for group {}, which has {} seats; there are no more "
                                   "until a restart (workers.headroom)",
                                   by_number[g->id.value], g->id.value, layout_.of_group(g->id).size())});
  } catch (const topology_error& e) {
    reasons.push_back({workers_key(next), e.what()});
  }
  return reasons;
}

/// Returns how many workers of each group take part, where the host allows that: what the profile asks for, as far as
/// there are seats. Where none would be left, since the allowed CPUs are those of groups without seats, or without one
/// of a number that was given, all CPUs count as allowed. Throws `topology_error`, `std::bad_alloc`.
std::vector<std::uint32_t> runtime::wanted_workers(const profile& next, const host_allowance& allowed) const {
  const worker_options options = worker_options_of(next, start_cpu_);
  const auto counted = [&](const host_allowance& by) {
    std::vector<std::uint32_t> workers = worker_counts(machine_, groups_, options, by);
    static_cast<void>(fit(workers, options.total ? &by.cpus : nullptr));
    return workers;
  };
  std::vector<std::uint32_t> workers = counted(allowed);
  if (std::ranges::all_of(workers, [](std::uint32_t n) { return n == 0; }))
    workers = counted({machine_.cpus(), {}, allowed.quota_cpus});
  return workers;
}

/// Takes away the workers for which a group has no seat. `into`: null, or gives them to groups with a free seat and one of
/// these CPUs: a total is dealt in proportion, and rounding may give a group one more worker of a smaller total than of a
/// larger one. Returns how many are left without a seat.
std::uint32_t runtime::fit(std::vector<std::uint32_t>& workers, const cpu_set* into) const noexcept {
  std::uint32_t excess = 0;
  const auto seats = [&](group_id g) { return static_cast<std::uint32_t>(layout_.of_group(g).size()); };
  for (const locality_group& g : groups_.groups()) {
    std::uint32_t& n = workers[g.id.value];
    if (n <= seats(g.id)) continue;
    excess += n - seats(g.id);
    n = seats(g.id);
  }
  for (const locality_group& g : groups_.groups()) {
    if (into == nullptr || !g.cpus.intersects(*into)) continue;
    std::uint32_t& n = workers[g.id.value];
    const std::uint32_t more = std::min(excess, seats(g.id) - n);
    n += more;
    excess -= more;
  }
  return excess;
}

/// More workers first: meanwhile there is always one.
void runtime::set_active(std::span<const std::uint32_t> workers) noexcept {
  for (const bool more : {true, false})
    for (std::size_t g = 0; g < workers.size(); ++g)
      if ((workers[g] > boards_[g]->active.load(std::memory_order_relaxed)) == more)
        boards_[g]->active.store(workers[g], std::memory_order_seq_cst); // pairs: shown
  for (detail::worker* seat : seats_) show(*seat);
}

/// Writes to the boards whether the worker takes part.
void runtime::show(detail::worker& seat) noexcept {
  seat.show_availability();
  publish_load(seat.place());
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
