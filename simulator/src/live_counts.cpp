#include "live_counts.hpp"

namespace corewise::detail {

live_counts::live_counts(const worker_layout& layout, bool on) {
  if (!on) return;
  for (const worker_place& w : layout.workers()) {
    worker_metrics& m = workers_.emplace_back();
    m.worker = w.id;
    m.group = w.group;
    m.active = 1;
    m.victims.fill(w.group);
  }
}

void live_counts::stolen(worker_id thief, group_id victim, level l, std::uint32_t tasks) noexcept {
  if (!on()) return;
  of(thief).stolen[static_cast<std::size_t>(l)] += tasks;
  of(thief).victims[static_cast<std::size_t>(l)] = victim;
}

void live_counts::waited(worker_id w, task_class c, std::int64_t time_ns) noexcept {
  if (!on()) return;
  time_histogram& times = of(w).waited[static_cast<std::size_t>(c)];
  std::size_t i = 0;
  while (i < time_histogram::bounds && time_histogram::bound(i).count() < time_ns) ++i;
  ++times.counts[i];
  times.sum += std::chrono::nanoseconds{time_ns};
}

} // namespace corewise::detail
