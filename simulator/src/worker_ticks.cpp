#include "worker_ticks.hpp"

#include <algorithm>

namespace corewise::detail {

void worker_ticks::begin(worker_id w) noexcept {
  tick& t = workers_[w.value];
  t.began_ns = clock_.now_ns();
  t.polls = 0;
  t.next_look = first_look_of(t.average_ns, setup_.profile.queues.budget);
}

bool worker_ticks::look_at_clock(worker_id w) noexcept {
  tick& t = workers_[w.value];
  const std::uint32_t budget = setup_.profile.queues.budget;
  t.next_look = look_after(t.polls, budget);
  return ends_tick(t.polls, budget, time_since(t.began_ns));
}

std::uint64_t worker_ticks::end(worker_id w) noexcept {
  tick& t = workers_[w.value];
  if (t.polls != 0) t.average_ns = next_average(t.average_ns, time_since(t.began_ns), t.polls);
  return t.average_ns;
}

bool worker_ticks::tell_group(worker_id w) noexcept {
  tick& t = workers_[w.value];
  std::uint64_t& of_group = group_times_ns_[setup_.group_of(w).value];
  const std::uint64_t told = of_group;
  t.task_time_ns = std::min(t.average_ns, told);
  if (worth_telling(told, t.average_ns)) of_group = t.average_ns;
  return of_group > told;
}

} // namespace corewise::detail
