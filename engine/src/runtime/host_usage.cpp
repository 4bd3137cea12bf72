#include "runtime/host_usage.hpp"

#include <fstream>
#include <mutex>
#include <string>
#include <utility>

namespace corewise::detail {

/// The second word of schedstat is the time on run queues, in nanoseconds. Source: the kernel's
/// Documentation/scheduler/sched-stats.rst.
std::optional<std::chrono::nanoseconds> host_usage::waited(pid_t thread) const {
  std::ifstream file(root_ / "proc/self/task" / std::to_string(thread) / "schedstat");
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  if (!(file >> ran >> waited)) return std::nullopt;
  return std::chrono::nanoseconds{waited};
}

/// Adds what was counted since the look before. Where another group has the quota, its counts are of a time before.
void host_usage::count(cpu_throttling now) {
  cpu_throttling& sum = last_.throttling;
  if (!read_) {
    sum = now;
  } else {
    sum.quota_cpus = now.quota_cpus;
    sum.group = now.group;
    if (now.group == read_->group && now.periods >= read_->periods &&
        now.throttled_periods >= read_->throttled_periods && now.throttled >= read_->throttled) {
      sum.periods += now.periods - read_->periods;
      sum.throttled_periods += now.throttled_periods - read_->throttled_periods;
      sum.throttled += now.throttled - read_->throttled;
    }
  }
  read_ = std::move(now);
}

host_usage::seen host_usage::look(std::span<const pid_t> threads, monotonic::time_point now) {
  if (const std::unique_lock looks(looking_, std::try_to_lock); looks.owns_lock()) read(threads, now);
  const std::scoped_lock lock(given_lock_);
  seen given = given_;
  given.waited_for_cpu.resize(threads.size());
  return given;
}

/// Call with the lock held.
void host_usage::read(std::span<const pid_t> threads, monotonic::time_point now) {
  if (looked_ && now - *looked_ < std::chrono::seconds{1}) return;
  last_.waited_for_cpu.resize(threads.size());
  looked_ = last_.at = now;
  if (auto throttling = read_cpu_throttling(root_)) count(*std::move(throttling));
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto waits = waited(threads[i]);
    if (!waits) {
      counted_.erase(threads[i]); // it has ended; its number is given again
      continue;
    }
    auto& counted = counted_[threads[i]];
    if (*waits > counted) last_.waited_for_cpu[i] += *waits - counted;
    counted = *waits;
  }
  if (counted_.size() > 2 * threads.size() + 16) // threads that had left their seats when they ended
    std::erase_if(counted_, [&](const auto& of) { return !waited(of.first); });
  seen copy = last_;
  const std::scoped_lock lock(given_lock_);
  given_ = std::move(copy);
}

} // namespace corewise::detail
