#pragma once

#include "base/fence.hpp"
#include "base/task_clock.hpp"
#include "timers/timer_group.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <optional>
#include <span>
#include <vector>

// How timers fire in time without a thread of their own. A worker that runs tasks looks after the timers of
// its group when it reads the clock. A searcher looks after the timers of all groups. While any worker
// sleeps, the *sentinel* (sentinel.hpp) sleeps no longer than until the earliest timer of all.
//
// Invariant: the sentinel never sleeps past a timer that is set, unless its setter is about to wake it.
//
//     a thread that sets a timer                  sentinel
//     I1  set it; the group's `next_ns` is        T1  sleeps_until = for ever
//         earlier now: else done
//     I2  full fence                              T2  full fence
//     I3  there is no sentinel: wake a            T3  read `next_ns` of all groups;
//         sleeper, if there is one; the               sleeps_until = the earliest
//         sentinel sleeps longer: wake it         T4  sleep until then
//
// One of the two fences comes first. If I2 comes first, T3 sees the timer. If T2 comes first, I3 sees that
// the sentinel sleeps for ever, or until the time that it found without the timer, and wakes it.
// `sleeps_until` is in the past while the sentinel is awake: it looks at all groups before it sleeps again. A
// worker that gives up the duty fences, and passes the duty to a sleeper if any timer is pending
// (`sentinel::hand_over`). So I3 finds a sentinel, or finds a sleeper that was told, or wakes a sleeper. That
// sleeper becomes the sentinel, or leaves the duty to the worker that is. A setter whose timer is not earlier
// than another timer of its group relies on the setter of that one. tests/model/timer.pml proves it. It also
// proves that the protocol fails without I2, without T2, when T1 comes after T3, and when no sleeper is woken
// where there is no sentinel.
//
// The sentinel itself fires the expired timers of its own group, and of groups without active workers: it
// wakes up, and is a searcher. For another group it wakes one of that group's sleepers. If all workers of the
// group are awake, or the sentinel has woken one, it gives the group `grace_ns`, in which every worker that
// is not in one long task has looked. After that the sentinel fires the timers of that group itself, too.
//
// | tag    | release site         | acquire site         | publishes            | weakened             |
// |--------|----------------------|----------------------|----------------------|----------------------|
// | I2, T2 | full_fence (seq_cst) | full_fence (seq_cst) | nothing; order only  | a timer that is late |
//
// Rejected: a thread for timers (a switch for each timer, on a core that a worker uses); a timerfd for each
// group (a system call for each earlier deadline); the earliest time of all groups in one word (all groups
// would write it).

namespace corewise::detail {

class timer_watch {
 public:
  /// `groups` holds the timers by group and must outlive this. Throws `std::bad_alloc`.
  explicit timer_watch(std::span<timer_group* const> groups) : groups_(groups), called_(groups.size()) {}

  timer_group& of(group_id g) noexcept { return *groups_[g.value]; }

  /// Returns whether any timer is set. Call from any thread. Cost: a load for each group.
  bool pending() const noexcept {
    return std::ranges::any_of(groups_,
                               [](const timer_group* g) { return g->next_ns() != timer_group::never; });
  }

  /// Step I3: returns whether the sentinel sleeps longer than until `next_ns`. Call after a full fence.
  bool sleeps_past(std::int64_t next_ns) const noexcept {
    return next_ns < sleeps_until_.load(std::memory_order_relaxed);
  }

  /// Steps T1 to T3. Call from the sentinel of group `own`, before it sleeps. `wake(g)` wakes a sleeper of a
  /// group whose timers have expired, and returns whether there was one; `works(g)` returns whether the group
  /// has active workers. Returns how long to sleep, or nothing if the sentinel must not sleep but fire
  /// expired timers itself.
  template <class Wake, class Works>
  std::optional<std::chrono::nanoseconds> plan(group_id own, const Wake& wake, const Works& works) noexcept {
    const auto others_do = [&](group_id g) { return g != own && (wake(g) || works(g)); };
    sleeps_until_.store(timer_group::never, std::memory_order_relaxed); // T1
    full_fence();                                                       // T2
    std::int64_t now = 0;                                               // not read yet
    std::int64_t earliest = timer_group::never;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::optional<std::int64_t> next = next_of(g, now, others_do); // T3
      if (!next) return awake(), std::nullopt;
      earliest = std::min(earliest, *next);
    }
    sleeps_until_.store(earliest, std::memory_order_relaxed);
    if (earliest == timer_group::never) return std::chrono::nanoseconds::max();
    return std::chrono::nanoseconds{std::max<std::int64_t>(1, earliest - read_clock())};
  }

  /// Notes that the sentinel is awake. Call from the sentinel, when it has slept.
  void awake() noexcept { sleeps_until_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t grace_ns = 1'000'000; // two ticks of a worker

  static std::int64_t read_clock() noexcept { return monotonic::now().time_since_epoch().count(); }

  /// Returns when to look at group g, or nothing if the sentinel must look now.
  template <class OthersDo>
  std::optional<std::int64_t> next_of(std::size_t g, std::int64_t& now, const OthersDo& others_do) noexcept {
    for (;;) {
      const std::int64_t next = groups_[g]->next_ns();
      if (next == timer_group::never) return called_[g] = 0, next;
      if (now == 0) now = read_clock();
      if (next > now) return called_[g] = 0, next;
      if (called_[g] > now) return called_[g];
      if (!groups_[g]->ripe(now)) continue; // it was too early, or the timer is moving down
      if (called_[g] != 0 || !others_do(group_id{static_cast<std::uint32_t>(g)}))
        return called_[g] = 0, std::nullopt;
      return called_[g] = now + grace_ns;
    }
  }

  std::span<timer_group* const> groups_;
  std::vector<std::int64_t> called_; // until when other workers have time; 0: none was called. The sentinel's
  alignas(128) atomic<std::int64_t> sleeps_until_{0};
};

} // namespace corewise::detail
