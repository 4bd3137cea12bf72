#pragma once

#include "idle/lookout.hpp"
#include "idle/wake_ups.hpp"
#include "timers/timer_watch.hpp"

#include <corewise/policies/detail/atomic.hpp>

// The duties that one sleeper has for all others.
//
// Invariant: while a worker sleeps and there is a duty, a worker is the sentinel, or a worker is about to
// become it, or to wake a sleeper for it.
//
// The *sentinel* waits for timers (timer_watch.hpp). It has a second duty while there is no supervisor
// (before the first task, and where the system gives no thread): it uses its own lookout (lookout.hpp), at
// least once a second. No worker that wakes up tells it, so a task may lie in a slot for a second before the
// first look.
//
// A worker that lies down while there is no sentinel becomes it. A sentinel that is woken gives the duties
// up. If it then finds nothing, it takes them again. If it finds work, it wakes another sleeper, for which
// the same holds; so does a worker that has retired and will not take them again.
//
// Say that worker A has woken worker B for the duties. B needs a while to come, in which A may have run its
// task. If A took the duties back, the next task would wake A, and A would wake B, for one short task after
// another. So A leaves the duties once, while other workers search: B searches from its wake-up on.
//
//     worker that has handed the duties over      another searcher of its domain
//     D1  there is no sentinel: wakes a sleeper   D3  leaves the searchers
//     D2  lies down: leaves the searchers,        D4  has work: there is no sentinel, so it wakes a sleeper;
//         fence; a worker searches: leaves            or lies down: becomes the sentinel, or as on the left
//         the duties
//
// A worker that D2 sees has not come to D3, so its D4 sees D1: the last one to leave the searchers takes
// the duties or hands them over. tests/model/timer.pml proves that, and that it fails without a fence,
// without the hand-over, when a woken worker does not hand over, and when a worker that has handed the
// duties over leaves them although no worker searches.
//
// | tag    | release site         | acquire site           | publishes              | weakened               |
// |--------|----------------------|------------------------|------------------------|------------------------|
// | duty   | holder_: store       | holder_: CAS           | the lookout's memory   | a task's age is wrong  |
// | D2, D4 | full_fence (seq_cst) | searchers: RMW, then   | nothing; order only:   | there is no sentinel   |
// |        |                      | holder_: load          | searchers, duty        |                        |

namespace corewise::detail {

class sentinel {
 public:
  /// All arguments outlive it.
  sentinel(const locality_groups& groups, const worker_layout& layout, wake_ups& wakes, timer_watch& timers);

  /// Returns whether the worker is the sentinel.
  bool is(worker_id w) const noexcept { return holder_.load(std::memory_order_relaxed) == w.value; }

  // --- the worker

  /// Step D2. Returns whether worker w, which is about to sleep, leaves the duties to other workers this
  /// once, because it has handed them over since its last sleep. `others_search`: other workers of its
  /// domain search.
  bool leaves_duties(worker_id w, bool others_search) noexcept {
    return std::exchange(marks_[w.value].handed_over, false) && others_search;
  }
  /// Makes worker w, which has set its parked bit, the sentinel. Returns false if there is one, or there is
  /// no duty.
  bool take_duties(worker_id w) noexcept;
  /// Sleeps as the sentinel, until a waker has claimed worker w, it has something to do itself, or its time
  /// is over. Then it is the sentinel no longer.
  [[gnu::hot]] void sleep(worker_id w) noexcept;
  /// Steps D1 and D4: if there is no sentinel, wakes a sleeper to become it. Call from worker w, which has
  /// left the searchers and does not lie down to take the duties.
  void hand_over_if_free(worker_id w) noexcept {
    if (holder_.load(std::memory_order_seq_cst) == no_worker) hand_over(w); // D4, pairs: D2, D4
  }

  /// Leaves the lookout to the supervisor from now on. Call from the supervisor's thread.
  void relieve() noexcept { relieved_.store(true, std::memory_order_relaxed); }
  /// A timer was set in group g, and is the earliest there (timer_watch.hpp, I2 and I3). Call from any
  /// thread. Cost: a fence and two loads; a system call when the sentinel sleeps longer.
  void timer_set(group_id g, std::int64_t next_ns) noexcept;

 private:
  static constexpr std::uint32_t no_worker = ~std::uint32_t{0};

  bool looks() const noexcept {
    return !relieved_.load(std::memory_order_relaxed) && (lookout_.slots_age() || lookout_.rescues());
  }
  bool has_duties() const noexcept { return timers_.pending() || looks(); }
  void hand_over(worker_id w) noexcept;
  void watch(worker_id w) noexcept;
  std::optional<std::chrono::nanoseconds> until_timer(worker_id w) noexcept;

  struct alignas(128) mark {
    bool handed_over = false; // the worker's own: since its last sleep it has woken another for the duties
  };

  const locality_groups& groups_;
  const worker_layout& layout_;
  wake_ups& wakes_;
  timer_watch& timers_;
  lookout lookout_; // the sentinel's
  std::unique_ptr<mark[]> marks_;
  alignas(128) atomic<std::uint32_t> holder_{no_worker};
  atomic<bool> relieved_{false}; // relaxed: the sentinel may look once more
};

} // namespace corewise::detail
