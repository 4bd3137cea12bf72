#pragma once

#include "base/parker.hpp"
#include "idle/slot_watch.hpp"
#include "queues/class_queue.hpp"
#include "queues/worker_queues.hpp"
#include "rules/rules.hpp"
#include "timers/timer_watch.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/idle_rules.hpp>
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
// there wakes the nearest parked worker further out, unless somebody searches where that one sleeps.
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
// By rule 2 the last searcher looks at its own domain. Who relies on the searchers of a domain for what waits in another
// one *asks* them, so that the last looks at the others as well: a push that finds them where it would wake somebody; a
// push that wakes somebody there, since more may wait than one takes; and a searcher that lies down before they do.
//
//     who asks                                    the last searcher of domain B, with work
//     F1  push: task put in domain A, P2; or      G1  leave the searchers of B
//         lie down in B: parked bit set, W2       G2  nobody searches B, B's mark is there: take it back,
//     F2  mark B; nobody searches it: wake one            full fence
//         there; or look everywhere oneself       G3  look at domains that nobody searches; there is work
//                                                     for B: mark B, wake one there, or one farther out
//
// The mark is a bit of the word that counts searchers. So it comes before the last one has left, who finds it at G2 or
// leaves it to whoever has begun to search meanwhile; or it comes later, and F2 sees that nobody searches. A mark that is
// there already serves as well: it is taken back after F2 has seen it, so G3 sees the task, or the push sees the sleeper's
// bit. The last searcher that finds nothing takes it back too, at W3; if it sees something then, it marks B again, since it
// may find something else. With one domain nobody asks. tests/model/farther.pml proves it, and that it fails when any of
// these does not ask, with the mark in another word, and when it is taken back after the look.
//
// Tasks that a worker moves from a shared queue to its ring are in no queue for a moment, in which a last look misses
// them: so that worker counts as having pushed them.
//
// One *sentinel* among the sleepers has three duties. It waits for timers: timer_watch.hpp. It sleeps with a time-out that
// doubles to 1 s, and should never find anything then: work that waits at two of its looks, 500 ms apart, while no worker
// began any task, is counted as `rescued_by_timeout`. In between it wakes up every 20 ms: by as much as it comes late the
// process was stopped, or had no CPU, and that does not count. And while anybody is awake it looks every 50 us to 1 ms for
// tasks that have aged in a LIFO slot (slot_watch.hpp), and pushes them to the inbox of the slot's worker, as if they had
// just come.
//
//     worker                                      sentinel
//     S1  awake: not counted as parked            T1  watching = false
//     S2  put the task into the slot              T2  full fence
//     S3  full fence, the first time              T3  somebody is not parked: watching again
//     S4  watching: done; else wake the sentinel  T4  sleep as long as it likes
//
// Of the two fences one comes first: S4 sees `false`, or T3 sees that the worker is awake, and goes on watching until it
// is not. Who lies down while nobody has the duties takes them. A sentinel that is woken gives them up, and finds nothing
// and takes them again, or finds work: then it wakes another sleeper, if there is one, for whom the same holds; and so
// does one that has retired and will not take them again.
//
// The one that was woken for the duties needs a while, in which who woke it may have run its task. If that one took them back
// it would be woken, and wake the other, for one short task after another. So it leaves them, this once, while others search:
// the other does, from its wake-up on.
//
//     who has handed the duties over              another searcher of its domain
//     D1  nobody has them; wakes a sleeper        D3  leaves the searchers
//     D2  lies down: leaves the searchers,        D4  has work: nobody has the duties, so it wakes a sleeper;
//         fence; somebody searches: leaves them       or lies down: takes them, or as on the left
//
// What D2 sees has not come to D3, so D4 sees D1: the last one to leave the searchers takes the duties or hands them over.
// tests/model/slot.pml and timer.pml prove that, and that it fails without a fence, without T3, without the hand-over,
// when the hand-over is not passed on, and when who has handed the duties over leaves them to nobody.
//
// A task with a class (class_queue.hpp) is pushed and found like any other, by its domain instead of its worker: P1 puts
// it into the domain's queue, which every last look looks at. Only whom it is for differs. `latency` wakes the fastest
// sleeper of the domain, `background` the slowest, and a searcher that is slower, or faster, leaves it to one that is
// idle and suits it better (`leave`): the searcher wakes that one if it sleeps, who then counts as a searcher before the
// first one leaves. So somebody looks after the task all the time.
//
// A seat is *retired* when the profile takes workers away (design.md, D9). Its worker hands over what it has and sleeps
// like any other, bit and all, but it is counted apart; nobody wakes it for work, other than for what was sent to itself,
// which it hands over too. While it is still in a task thieves are woken: its seat is on their way as before.
//
//     producer                                    retiring worker
//     P1  put the task into its inbox             R1  hand over what is there, set my parked bit, counted as retired,
//                                                     leave the searchers
//     P2  full fence                              R2  full fence
//     P3  nobody sleeps, none of the retired      R3  look at the inbox; a task: claim my bit back, from R1 on. Else,
//         either: done                                as the last searcher: look everywhere, wake somebody for it
//     P4  the worker sleeps: wake it; else,       R4  sleep until a token comes
//         where others steal, one of them
//
// Of the fences one comes first, as above. P3 and P4 read again whether the worker is there, after the push: who was told
// by its load that it may be sent to can be late by any time. tests/model/retire.pml proves it, and that it fails
// when the producer does not look again, and without the look of R3. Where all workers of a domain have retired, what waits
// in its class queues is handed over by one of them, or stolen: their parked bits make nobody leave it to them.
//
// What the profile says about sleeping and stealing is read after these fences and is never older than them, so it is not
// in the swapped `rules`, which each worker takes at a time of its own: a producer that still counts on thieves and a
// worker that no longer is one would leave a task between them. `wake_all` follows each change: who went by the
// older word before its fence is answered for by that.
//
// Rejected: one count of searchers for the machine (searchers would drag work across packages); waking on
// every push (a system call for each task of a burst); a flag "about to park" instead of the fence (the waker
// may read it too early); the mark of who asks in a word of its own (it takes a fence and another look at the searchers);
// that each last searcher that finds work looks at all domains (it reads the queues of the whole machine, before its task).
//
// | tag    | release site         | acquire site           | publishes              | weakened                   |
// |--------|----------------------|------------------------|------------------------|----------------------------|
// | claim  | parked bit: fetch_or | parked bit: fetch_and  | that the worker sleeps | two wakers wake one worker |
// | count  | wake: counted store  | sleep: counted load    | that it is a searcher  | a wake-up is lost          |
// | P2, W2 | full_fence (seq_cst) | full_fence (seq_cst)   | nothing; order only:   | a wake-up is lost          |
// |        |                      |                        | bits, `searching`,     |                            |
// |        |                      |                        | `asleep_`, `stopping_` |                            |
// | F2, G2 | the mark: fetch_or,  | the mark: CAS,         | nothing; order only:   | work waits beside sleepers |
// |        | or seen behind P2    | full_fence (seq_cst)   | the mark, queues, bits | of another domain          |
// | S3, T2 | full_fence (seq_cst) | full_fence (seq_cst)   | nothing; order only    | nobody watches a slot      |
// | duty   | sentinel_: store     | sentinel_: CAS         | slot_watch's memory    | a task's age is wrong      |
// | D2, D4 | full_fence (seq_cst) | `searching`: RMW, then | nothing; order only:   | nobody has the duties      |
// |        |                      | sentinel_: load        | `searching`, duty      |                            |

namespace corewise::detail {

class idle_workers : idle_rules<idle_workers> {
  friend idle_rules<idle_workers>;

 public:
  /// All arguments outlive it. `queues` by worker id; `injection` by group; `classes` by domain.
  idle_workers(const locality_groups& groups, const worker_layout& layout,
               std::span<const std::unique_ptr<group_board>> boards, std::span<worker_queues* const> queues,
               std::span<injection_queue* const> injection,
               std::span<const std::unique_ptr<domain_classes>> classes, timer_watch& timers,
               const swapped<rules>& newest);

  /// What the profile says from here on; the boards say already which workers are active. To be followed by `wake_all`.
  /// One thread at a time.
  void set(const profile& settings) noexcept;
  /// Everybody who sleeps looks up once, retired workers too. Any thread. Cost: a system call for each.
  void wake_all() noexcept;

  /// Whether nobody is left who takes from the injection queue of g without being a thief.
  bool injection_is_left(group_id g) const noexcept;
  /// Whether nobody of the domain is left, so that its tasks with a class are taken by others only.
  bool classes_are_left(std::uint32_t domain) const noexcept {
    return domains_[domain].active.load(std::memory_order_relaxed) == 0;
  }

  /// Whether workers take from each other.
  bool stealing() const noexcept { return stealing_.load(std::memory_order_relaxed); }

  /// Rules 1 and conservation: a task was pushed to worker w (or to its group's injection queue). Any thread.
  /// Cost: a fence and a load while nobody sleeps; a system call when somebody is woken.
  void pushed(worker_id w) noexcept {
    full_fence(); // P2
    const std::uint64_t asleep = asleep_.load(std::memory_order_relaxed);
    if (asleep != 0) wake_for(w);
  }

  /// As above: a task of class c was pushed to a domain's queue. Any thread.
  void pushed(std::uint32_t domain, task_class c) noexcept;
  /// Whether worker w, which searches, leaves a task of class c to another; see `idle_rules`.
  bool leave(worker_id w, task_class c, bool last_round, bool& handed) noexcept;

  /// A task was put into the LIFO slot of a worker that is at work, which makes nobody look for it; from now on the
  /// sentinel sees whether it ages there. Once between two sleeps of the worker. Cost: a fence.
  void watch_slots() noexcept;

  /// A timer was set in group g, and is the earliest there (timer_watch.hpp). Any thread. Cost: a fence and two loads; a
  /// system call when the sentinel sleeps longer.
  void timer_set(group_id g, std::int64_t next_ns) noexcept;

  /// Whether w may search; counts it if so. False when enough of its domain do.
  bool try_search(worker_id w) noexcept;
  /// Whether workers of group `thief` may take what waits in group `victim`: thresholds by level. Cost
  /// outside the own domain: a look at each worker of the victim's domain.
  bool may_take(group_id thief, group_id victim) const noexcept { return may_steal(thief, victim); }
  /// As above, for tasks with a class: the domain has nobody idle, besides.
  bool may_take_class(group_id thief, std::uint32_t domain) const noexcept;
  /// Rule 2. The worker has found work. If it is the sentinel no longer, another becomes it.
  [[gnu::hot]] void found_work(worker_id w) noexcept;

  struct parking {
    bool searching = false;    ///< it is counted as a searcher now
    bool retired = false;      ///< it goes by rules under which it is
    const rules* by = nullptr; ///< while these are the newest
  };
  /// The worker goes to sleep, if it still should after a last look, until it is woken. When this returns it is counted
  /// as a searcher.
  [[gnu::hot]] void park(worker_id w, const parking& as) noexcept;

  struct counters {
    atomic<std::uint64_t> parks{0}; // single writer: the worker
    atomic<std::uint64_t> wakes{0};
    atomic<std::uint64_t> timeouts{0};
    atomic<std::uint64_t> rescued{0};
    atomic<std::uint64_t> lifo_rescued{0};
  };
  const counters& counts(worker_id w) const noexcept { return seats_[w.value].counts; }

  /// Whether everybody sleeps or is about to, the retired ones among them. Any thread.
  bool all_parked() const noexcept;

  /// Whether the worker sleeps, or does as the sentinel, who stirs now and then. Who has its parked bit set and does not will
  /// look once more before it does. Any thread.
  bool asleep(worker_id w) const noexcept;

  /// Nobody goes to sleep any more, and who sleeps wakes up. Any thread.
  void stop() noexcept;

 private:
  // The two parts of `searching`.
  static constexpr std::uint32_t asked = 1;
  static constexpr std::uint32_t one_searcher = 2;
  static bool anybody_in(std::uint32_t searching) noexcept { return searching >= one_searcher; }

  struct alignas(128) domain_state {
    atomic<std::uint32_t> searching{0}; // so many searchers, and whether they were asked
    atomic<std::uint32_t> searching_max{one_searcher};
    atomic<std::uint32_t> active{0}; // workers that are not retired
  };
  struct alignas(128) seat_state {
    parker bed;
    atomic<bool> counted{false};              // whoever claimed the bit has counted the sleeper as a searcher
    atomic<std::uint64_t> weight{one_parked}; // what it is in `asleep_`; published by its parked bit
    bool handed_over = false; // the worker's own: since it slept last it has woken another for the duties
    counters counts;
  };

  // The two halves of `asleep_`.
  static constexpr std::uint64_t one_parked = 1;
  static constexpr std::uint64_t one_retired = std::uint64_t{1} << 32;
  static std::uint32_t parked_of(std::uint64_t asleep) noexcept { return static_cast<std::uint32_t>(asleep); }
  static std::uint32_t retired_of(std::uint64_t asleep) noexcept {
    return static_cast<std::uint32_t>(asleep >> 32);
  }

  /// Adds to a counter that only the calling thread writes.
  static void count(atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Whether somebody sleeps who may be woken for work.
  bool anybody_parked() const noexcept { return parked_of(asleep_.load(std::memory_order_relaxed)) != 0; }
  bool ageing() const noexcept;

  domain_state& domain_of(worker_id w) noexcept { return domains_[groups_[layout_[w].group].domain]; }
  std::uint32_t active_in(group_id g) const noexcept {
    return boards_[g.value]->active.load(std::memory_order_relaxed);
  }
  void join_searchers(worker_id w) noexcept {
    domain_of(w).searching.fetch_add(one_searcher, std::memory_order_seq_cst); // pairs: P2, W2
  }
  /// Whether w, one of them, was the last.
  bool leave_searchers(worker_id w) noexcept {
    return domain_of(w).searching.fetch_sub(one_searcher, std::memory_order_seq_cst) < // pairs: P2, W2
           2 * one_searcher;
  }
  [[gnu::hot]] void wake_for(worker_id w) noexcept;
  [[gnu::hot]] bool wake(group_id g, std::size_t index) noexcept;
  bool can_wake(group_id g) const noexcept;
  bool wake_any(group_id g) noexcept;
  void wake_for_injection(group_id g) noexcept;
  bool wake_to_hand_over(std::uint32_t domain) noexcept;
  void pass_on(group_id from) noexcept;
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept;
  [[gnu::hot]] bool work_in(group_id g) const noexcept;
  bool work_for(worker_id w) const noexcept;
  bool to_hand_over(worker_id w) const noexcept;
  // For idle_rules.
  bool own_work(worker_id w) const noexcept { return queues_[w.value]->ready(); }
  bool searching(std::uint32_t domain) const noexcept {
    return anybody_in(domains_[domain].searching.load(std::memory_order_relaxed));
  }
  bool ask(std::uint32_t domain) noexcept;
  bool was_asked(std::uint32_t domain) noexcept {
    return domains_[domain].searching.load(std::memory_order_relaxed) == asked && take_back(domain);
  }
  bool take_back(std::uint32_t domain) noexcept;
  bool lowest_first() const noexcept { return lowest_first_.load(std::memory_order_relaxed); }
  std::uint32_t injected(group_id g) const noexcept { return injection_[g.value]->size(); }
  std::uint32_t least_at(level l) const noexcept {
    return minimum_at_[static_cast<std::size_t>(l)].load(std::memory_order_relaxed);
  }
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return classes_[domain]->of(c).ready();
  }
  bool spins_in(group_id g) const noexcept { return boards_[g.value]->spinning.lowest() < active_in(g); }
  bool on_its_way(group_id g) const noexcept;
  void wake_up_oneself(worker_id w) noexcept;
  [[gnu::hot]] void sleep(worker_id w, bool leaves_duty) noexcept;
  park_timeout_setting timeout() const noexcept;
  std::optional<std::chrono::nanoseconds> fixed_timeout() const noexcept;
  [[gnu::hot]] bool watch(worker_id w) noexcept;
  bool look_at_slots(worker_id w) noexcept;
  std::optional<std::chrono::nanoseconds> until_timer(worker_id w) noexcept;
  void leave_watch() noexcept;
  void hand_watch_over(worker_id w) noexcept;
  std::optional<std::uint64_t> stalled_work(worker_id w) const noexcept;

  std::span<const std::unique_ptr<group_board>> boards_;
  std::span<worker_queues* const> queues_;
  std::span<injection_queue* const> injection_;
  std::span<const std::unique_ptr<domain_classes>> classes_;
  timer_watch& timers_;
  const swapped<rules>& newest_;

  // What the profile says. Relaxed: the fences of the protocol order them.
  atomic<bool> stealing_{false};
  atomic<bool> lowest_first_{false};
  atomic<bool> slots_used_{false}; // has been so, under this profile or an older one
  std::array<atomic<std::uint32_t>, level_count> minimum_at_{};
  atomic<std::int64_t> lifo_age_ns_{never};
  atomic<std::int64_t> park_timeout_ns_{never};

  slot_watch slots_; // the sentinel's
  std::unique_ptr<domain_state[]> domains_;
  std::unique_ptr<seat_state[]> seats_;
  alignas(128) atomic<std::uint64_t> asleep_{0}; // workers; above them, retired ones
  atomic<bool> stopping_{false};
  alignas(128) atomic<std::uint32_t> sentinel_{nobody};
  atomic<bool> watching_{false}; // the sentinel looks at the slots in short intervals

  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  static constexpr std::int64_t never = -1;
  static constexpr std::int64_t adapts = -2; // of `park_timeout_ns_`
  static constexpr std::chrono::nanoseconds slot_look_min = std::chrono::microseconds{50};
  static constexpr std::chrono::nanoseconds slot_look_max = std::chrono::milliseconds{1};
  static constexpr std::chrono::nanoseconds patience_min = std::chrono::milliseconds{1};
  static constexpr std::chrono::nanoseconds patience_max = std::chrono::seconds{1};
  static constexpr std::chrono::nanoseconds second_look = std::chrono::milliseconds{500};
  static constexpr std::chrono::nanoseconds pulse = std::chrono::milliseconds{20};
};

} // namespace corewise::detail
