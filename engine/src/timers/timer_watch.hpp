#pragma once

#include "base/fence.hpp"
#include "base/task_clock.hpp"
#include "timers/timer_group.hpp"

#include <corewise/topology/ids.hpp>

#include <optional>
#include <span>
#include <vector>

// Who waits for timers. There is no thread for them. A worker that runs tasks looks after those of its group when it reads
// the clock, a searcher after those of all groups; and while somebody sleeps the *sentinel* (idle.hpp) sleeps no longer than
// until the earliest of all.
//
//     who sets a timer                            sentinel
//     I1  set it; the group's `next_ns` is        T1  sleeps_until = for ever
//         earlier now: else done
//     I2  full fence                              T2  full fence
//     I3  nobody is the sentinel: wake a          T3  read `next_ns` of all groups; sleeps_until = the earliest
//         sleeper, if there is one; the
//         sentinel sleeps longer: wake it         T4  sleep until then
//
// Of the two fences one comes first. If I2 does, T3 sees the timer. If T2 does, I3 sees that the sentinel sleeps for ever,
// or until what it found without the timer, and wakes it. `sleeps_until` is the past while it is awake: it looks at all
// groups before it sleeps again. Who leaves the duty fences, and hands it to a sleeper if any timer is pending
// (`hand_watch_over`); so I3 finds a sentinel, or somebody who was told, or wakes one who becomes it or leaves it to one who was. A timer that is not
// earlier than another of its group has that one's setter to rely on. tests/model/timer.pml proves it, and that it fails
// without I2, without T2, when T1 comes after T3, and when nobody is woken for want of a sentinel.
//
// What is due in the sentinel's own group, or in one without active workers, it does itself: it wakes up, and is a
// searcher. For another group it wakes one of that group's sleepers. A group where all are awake, or somebody was woken, it
// gives `grace`, in which a worker that is not in one long task has looked; after that it does it itself, too.
//
// | tag    | release site         | acquire site         | publishes            | weakened             |
// |--------|----------------------|----------------------|----------------------|----------------------|
// | I2, T2 | full_fence (seq_cst) | full_fence (seq_cst) | nothing; order only  | a timer that is late |
//
// Rejected: a thread for timers (a switch for each timer, on a core that somebody works on); a timerfd for each group (a
// system call for each earlier deadline); the earliest of all groups in one word (written by all of them).

namespace corewise::detail {

class timer_watch {
 public:
  /// By group; they outlive it. Throws `std::bad_alloc`.
  explicit timer_watch(std::span<timer_group* const> groups) : groups_(groups), called_(groups.size()) {}

  timer_group& of(group_id g) noexcept { return *groups_[g.value]; }

  /// Whether any timer is set. Any thread. Cost: a load for each group.
  bool pending() const noexcept {
    return std::ranges::any_of(groups_,
                               [](const timer_group* g) { return g->next_ns() != timer_group::never; });
  }

  /// I3: whether the sentinel sleeps longer than until `next_ns`. After a full fence.
  bool sleeps_past(std::int64_t next_ns) const noexcept {
    return next_ns < sleeps_until_.load(std::memory_order_relaxed);
  }

  /// The sentinel of group `own`, about to sleep: T1 to T3. `wake(g)` wakes a sleeper of a group where a timer is due, if
  /// there is one; `works(g)`: whether it has active workers. Answers how long to sleep; nothing: not at all, a timer is due
  /// that is the sentinel's to do.
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

  /// The sentinel, when it has slept.
  void awake() noexcept { sleeps_until_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t grace_ns = 1'000'000; // two ticks of a worker

  static std::int64_t read_clock() noexcept { return monotonic::now().time_since_epoch().count(); }

  /// When to look at group g; nothing: now, and nobody else does.
  template <class OthersDo>
  std::optional<std::int64_t> next_of(std::size_t g, std::int64_t& now, const OthersDo& others_do) noexcept {
    for (;;) {
      const std::int64_t next = groups_[g]->next_ns();
      if (next == timer_group::never) return called_[g] = 0, next;
      if (now == 0) now = read_clock();
      if (next > now) return called_[g] = 0, next;
      if (called_[g] > now) return called_[g];
      if (!groups_[g]->ripe(now)) continue; // it was too early, or is on its way down
      if (called_[g] != 0 || !others_do(group_id{static_cast<std::uint32_t>(g)}))
        return called_[g] = 0, std::nullopt;
      return called_[g] = now + grace_ns;
    }
  }

  std::span<timer_group* const> groups_;
  std::vector<std::int64_t> called_; // until when others have time; 0: nobody was called. The sentinel's
  alignas(128) std::atomic<std::int64_t> sleeps_until_{0};
};

} // namespace corewise::detail
