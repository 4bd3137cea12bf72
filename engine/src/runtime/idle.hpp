#pragma once

#include "class_queue.hpp"
#include "parker.hpp"
#include "queues.hpp"
#include "slot_watch.hpp"

#include <corewise/engine/profile.hpp>
#include <corewise/policies/load_view.hpp>

#include <memory>
#include <vector>

// Who sleeps, who searches, and why no task is stranded between them.
//
// A worker without work is a *searcher* of its domain, then *parked*. Three rules (Go's and Tokio's, by domain):
//   1. Whoever pushes a task while nobody searches the domain wakes one parked worker, which becomes a searcher.
//   2. A searcher that finds work stops searching; if it was the last, and more work waits, it wakes another.
//   3. The last searcher that finds nothing looks everywhere once more after it has announced that it parks.
// So at most one wake-up is under way in a domain, and a burst wakes workers one after another, each only
// while work waits. When a domain has nobody left to wake, a push that leaves `minimum_at` tasks waiting
// there wakes the nearest parked worker further out.
//
// The claim of a parked bit is a fetch_and, so one waker wins; the winner counts the sleeper as a searcher
// *before* it says `counted` and leaves the token. A parked worker that finds work in its last look claims its own bit;
// when a waker was quicker it waits for that one's word instead. The token alone is not enough: it may be one that was
// left for an earlier sleep, and who goes on before it is counted leaves the searchers before it has joined them.
//
//     producer                                    worker
//     P1  put the task into a queue               W1  count me as parked, set my parked bit,
//                                                     leave the searchers
//     P2  full fence                              W2  full fence
//     P3  somebody searches the domain: done      W3  look at the queues; work: claim my bit back, search
//     P4  claim a parked bit, count a searcher,   W4  sleep until a token comes
//         leave the token
//
// No wake-up is lost: of the two fences one comes first. If P2 does, W3 sees the task. If W2 does, P3 sees
// that the worker searches no longer, or P4 sees its bit. A worker that was not the last searcher
// looks at its own queues only and leaves the rest to the last one; where nobody steals there are no searchers, and it
// looks at its group's injection queue as well. tests/model/park.pml proves it, and that it
// fails without a fence, without the last look, and without rule 2.
//
// Tasks that a worker moves from a shared queue to its ring are in no queue for a moment, in which a last look misses
// them: so that worker counts as having pushed them.
//
// One *sentinel* among the sleepers has two duties. It sleeps with a time-out that doubles to 1 s, and should never find
// anything then: work that waits at two of its looks, while no worker began any task, is counted as
// `rescued_by_timeout`. And while anybody is awake it looks every 50 us to 1 ms for tasks that have aged in a LIFO slot
// (slot_watch.hpp), and pushes them to the inbox of the slot's worker, as if they had just come.
//
//     worker                                      sentinel
//     S1  awake: not counted as parked            T1  watching = false
//     S2  put the task into the slot              T2  full fence
//     S3  full fence, the first time              T3  somebody is not parked: watching again
//     S4  watching: done; else wake the sentinel  T4  sleep as long as it likes
//
// Of the two fences one comes first: S4 sees `false`, or T3 sees that the worker is awake, and goes on watching until it
// is not. A sentinel that is woken for other work hands the duty to another sleeper, if there is one; whoever lies down
// next takes it. tests/model/slot.pml proves that, and that it fails without a fence, without T3, and without the
// hand-over.
//
// A task with a class (class_queue.hpp) is pushed and found like any other, by its domain instead of its worker: P1 puts
// it into the domain's queue, which every last look looks at. Only whom it is for differs. `latency` wakes the fastest
// sleeper of the domain, `background` the slowest, and a searcher that is slower, or faster, leaves it to one that is
// idle and suits it better (`leave`): the searcher wakes that one if it sleeps, who then counts as a searcher before the
// first one leaves. So somebody looks after the task all the time.
//
// Rejected: one count of searchers for the machine (searchers would drag work across packages); waking on
// every push (a system call for each task of a burst); a flag "about to park" instead of the fence (the waker
// may read it too early).
//
// | tag    | release site         | acquire site          | publishes              | weakened                   |
// |--------|----------------------|-----------------------|------------------------|----------------------------|
// | claim  | parked bit: fetch_or | parked bit: fetch_and | that the worker sleeps | two wakers wake one worker |
// | count  | wake: counted store  | sleep: counted load   | that it is a searcher  | a wake-up is lost          |
// | P2, W2 | full_fence (seq_cst) | full_fence (seq_cst)  | nothing; order only    | a wake-up is lost          |
// | S3, T2 | full_fence (seq_cst) | full_fence (seq_cst)  | nothing; order only    | nobody watches a slot      |
// | duty   | sentinel_: store     | sentinel_: CAS        | slot_watch's memory    | a task's age is wrong      |

namespace corewise::detail {

class idle_workers {
 public:
  /// All arguments outlive it. `queues` by worker id; `injection` by group; `classes` by domain.
  idle_workers(const locality_groups& groups, const worker_layout& layout,
               std::span<const std::unique_ptr<group_board>> boards, std::span<worker_queues* const> queues,
               std::span<injection_queue* const> injection,
               std::span<const std::unique_ptr<domain_classes>> classes, const profile& settings);

  /// Rules 1 and conservation: a task was pushed to worker w (or to its group's injection queue). Any thread.
  /// Cost: a fence and a load while nobody sleeps; a system call when somebody is woken.
  void pushed(worker_id w) noexcept;

  /// As above: a task of class c was pushed to a domain's queue. Any thread.
  void pushed(std::uint32_t domain, task_class c) noexcept;
  /// Whether worker w, which searches, leaves what waits of class c in its domain to another that is idle there and suits
  /// it better; wakes that one if it sleeps. `handed`: it has left it to one that was woken, since it began to search; set
  /// here. `last_round`: it will park if it leaves it, so it leaves it only to such a one.
  bool leave(worker_id w, task_class c, bool last_round, bool& handed) noexcept;

  /// A task was put into the LIFO slot of a worker that is at work, which makes nobody look for it; from now on the
  /// sentinel sees whether it ages there. Once between two sleeps of the worker. Cost: a fence.
  void watch_slots() noexcept;

  /// Whether w may search; counts it if so. False when enough of its domain do.
  bool try_search(worker_id w) noexcept;
  /// Whether workers of group `thief` may take what waits in group `victim`: thresholds by level. Cost
  /// outside the own domain: a look at each worker of the victim's domain.
  bool may_take(group_id thief, group_id victim) const noexcept;
  /// As above, for tasks with a class: the domain has nobody idle, besides.
  bool may_take_class(group_id thief, std::uint32_t domain) const noexcept;
  /// Rule 2. The worker has found work.
  void found_work(worker_id w) noexcept;

  /// The worker goes to sleep, if it still should after a last look, until it is woken. `searching`: it is
  /// counted as a searcher now. When this returns it is.
  void park(worker_id w, bool searching) noexcept;

  struct counters {
    std::atomic<std::uint64_t> parks{0}; // single writer: the worker
    std::atomic<std::uint64_t> wakes{0};
    std::atomic<std::uint64_t> timeouts{0};
    std::atomic<std::uint64_t> rescued{0};
    std::atomic<std::uint64_t> lifo_rescued{0};
  };
  const counters& counts(worker_id w) const noexcept { return seats_[w.value].counts; }

  /// Whether everybody sleeps or is about to. Any thread.
  bool all_parked() const noexcept { return parked_.load(std::memory_order_relaxed) == layout_.size(); }

  /// Nobody goes to sleep any more, and who sleeps wakes up. Any thread.
  void stop() noexcept;

 private:
  struct alignas(128) domain_state {
    std::atomic<std::uint32_t> searching{0};
    std::uint32_t searchers_max = 1;
    std::vector<group_id> fastest_first; // those with workers
    bool unequal = false;                // they differ in capacity
  };
  struct alignas(128) seat_state {
    parker bed;
    std::atomic<bool> counted{false}; // whoever claimed the bit has counted the sleeper as a searcher
    counters counts;
  };

  domain_state& domain_of(worker_id w) noexcept { return domains_[groups_[layout_[w].group].domain]; }
  std::size_t index_in_group(worker_id w) const noexcept;
  bool wake(group_id g, std::size_t index) noexcept;
  bool wake_any(group_id g) noexcept;
  void wake_for_injection(group_id g) noexcept;
  bool wake_in_domain(worker_id nearest) noexcept;
  void wake_farther(group_id from) noexcept;
  bool wake_suited(std::uint32_t domain, task_class c) noexcept;
  void wake_fastest(std::uint32_t domain) noexcept;
  bool on_its_way(group_id g) const noexcept;
  void wake_for_class(std::uint32_t domain, task_class c) noexcept;
  template <class Visit> bool any_better_suited(worker_id w, task_class c, const Visit& visit) const noexcept;
  std::uint32_t waiting_in_domain(std::uint32_t domain) const noexcept;
  bool work_in_group(group_id g) const noexcept;
  bool work_for(worker_id w) const noexcept;
  std::uint32_t threshold(level l) const noexcept;
  void wake_up_oneself(worker_id w) noexcept;
  void sleep(worker_id w) noexcept;
  std::optional<std::chrono::nanoseconds> fixed_timeout() const noexcept;
  bool watch(worker_id w) noexcept;
  bool look_at_slots(worker_id w) noexcept;
  void leave_watch() noexcept;
  void hand_watch_over(worker_id w) noexcept;
  std::optional<std::uint64_t> stalled_work(worker_id w) const noexcept;

  const locality_groups& groups_;
  const worker_layout& layout_;
  std::span<const std::unique_ptr<group_board>> boards_;
  std::span<worker_queues* const> queues_;
  std::span<injection_queue* const> injection_;
  std::span<const std::unique_ptr<domain_classes>> classes_;
  profile::steal_section::thresholds minimum_at_;
  bool stealing_;
  bool lowest_first_;
  park_timeout_setting timeout_;
  bool ageing_;
  slot_watch slots_; // the sentinel's
  std::unique_ptr<domain_state[]> domains_;
  std::unique_ptr<seat_state[]> seats_;
  alignas(128) std::atomic<std::uint32_t> parked_{0};
  std::atomic<bool> stopping_{false};
  alignas(128) std::atomic<std::uint32_t> sentinel_{nobody};
  std::atomic<bool> watching_{false}; // the sentinel looks at the slots in short intervals

  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr std::chrono::nanoseconds slot_look_min = std::chrono::microseconds{50};
  static constexpr std::chrono::nanoseconds slot_look_max = std::chrono::milliseconds{1};
  static constexpr std::chrono::nanoseconds patience_min = std::chrono::milliseconds{1};
  static constexpr std::chrono::nanoseconds patience_max = std::chrono::seconds{1};
  static constexpr std::chrono::nanoseconds second_look = std::chrono::milliseconds{500};
};

} // namespace corewise::detail
