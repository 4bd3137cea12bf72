#pragma once

#include "base/faults.hpp"
#include "base/fence.hpp"
#include "base/parker.hpp"
#include "idle/drivers.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_view.hpp>
#include <corewise/topology/workers.hpp>

#include <memory>
#include <span>

// Workers that sleep, and how a waker wakes one of them.
//
// Invariant: one waker wins each sleep, and it has counted the sleeper as a searcher before the sleeper
// goes on.
//
//     sleeper                                     waker
//     W1  count itself as asleep, set its         C1  claim the bit, by a fetch_and: one waker wins
//         parked bit                              C2  count the sleeper as awake, then as a searcher
//     W4  sleep until a token comes               C3  counted = true
//     W5  claim the bit itself; if a waker was    C4  leave the token
//         quicker, wait for `counted`
//
// The token is not enough: it may be one that was left for an earlier sleep. A sleeper that went on before
// it is counted would leave the searchers before it has joined them. park.pml has a mutant for it
// (TRUST_TOKEN), and two for other orders of C2 and C3 and of W1 (COUNT_AFTER_TOKEN, COUNT_AFTER_BIT).
//
// Workers that have retired sleep in the same way, but are counted apart: no waker wakes them for work
// (retired_workers.hpp).
//
// Of the sleepers of a group one sleeps in its driver, where the engine has drivers (drivers.hpp).
//
// | tag   | release site         | acquire site          | publishes              | weakened                   |
// |-------|----------------------|-----------------------|------------------------|----------------------------|
// | claim | parked bit: fetch_or | parked bit: fetch_and | that the worker sleeps | two wakers wake one worker |
// | count | call: counted store  | await_call: counted   | that it is a searcher  | a wake-up is lost          |
// |       |                      | load                  |                        |                            |

namespace corewise::detail {

class sleepers {
 public:
  /// Counts of a worker's sleeps. Relaxed: numbers for people.
  struct counters {
    atomic<std::uint64_t> parks{0}; // single writer, and the next three: the worker
    atomic<std::uint64_t> wakes{0};
    atomic<std::uint64_t> timeouts{0};
    atomic<std::uint64_t> wakes_in_vain{0};
    atomic<std::uint64_t> rescued{0}; // any lookout, and the next
    atomic<std::uint64_t> lifo_rescued{0};
  };

  /// The arguments outlive it. `boards` by group.
  sleepers(const worker_layout& layout, std::span<const std::unique_ptr<group_board>> boards)
      : layout_(layout),
        boards_(boards),
        drivers_(boards.size()),
        beds_(std::make_unique<bed[]>(layout.size())) {}

  // --- what any thread may ask

  /// Returns whether any worker sleeps, the retired ones included.
  bool any() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }
  /// Returns whether a worker sleeps that may be woken for work.
  bool any_for_work() const noexcept { return active_of(asleep_.load(std::memory_order_relaxed)) != 0; }
  /// Returns whether all workers sleep or are about to, the retired ones included.
  bool all() const noexcept {
    const std::uint64_t asleep = asleep_.load(std::memory_order_relaxed);
    return active_of(asleep) + retired_of(asleep) == layout_.size();
  }
  const worker_bits& parked(group_id g) const noexcept { return boards_[g.value]->parked; }
  /// Returns whether a waker may claim the worker.
  bool is_parked(worker_id w, std::memory_order order = std::memory_order_relaxed) const noexcept {
    return boards_[layout_[w].group.value]->parked.test(index_of(w), order);
  }
  /// Returns whether the worker sleeps in its bed, or is about to.
  bool in_bed(worker_id w) const noexcept { return beds_[w.value].parker.occupied(); }
  /// Returns the index of the sleeper in g that is to be woken for work: the lowest that does not sleep in
  /// the driver, if there is one. Where none sleeps: the number of workers of g, or more.
  std::size_t first_to_wake(group_id g) const noexcept {
    const std::size_t lowest = parked(g).lowest();
    if (!drivers_.any() || !drivers_.slept_in(g)) [[likely]]
      return lowest;
    const auto workers = layout_.of_group(g);
    for (std::size_t i = lowest; i < workers.size(); ++i)
      if (parked(g).test(i) && !beds_[workers[i].id.value].parker.occupies_driver()) return i;
    return lowest;
  }
  detail::drivers& drivers() noexcept { return drivers_; }
  const detail::drivers& drivers() const noexcept { return drivers_; }
  /// Returns whether a waker has claimed the worker, and the worker has not come yet.
  bool is_called(worker_id w) const noexcept {
    return beds_[w.value].counted.load(std::memory_order_relaxed);
  }
  counters& counts(worker_id w) noexcept { return beds_[w.value].counts; }
  const counters& counts(worker_id w) const noexcept { return beds_[w.value].counts; }

  // --- the waker

  /// Step C1, and the first half of C2. Returns whether the calling thread has claimed the sleeper.
  bool claim(group_id g, std::size_t index) noexcept {
    if (!boards_[g.value]->parked.claim(index)) return false; // pairs: claim
    const bed& b = beds_[layout_.of_group(g)[index].id.value];
    asleep_.fetch_sub(b.weight.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return true;
  }
  /// Steps C3 and C4. Call it when the worker has been claimed and counted as a searcher.
  void call(worker_id w) noexcept {
    bed& b = beds_[w.value];
    b.counted.store(true, std::memory_order_release); // pairs: count
    if (!loses_wake()) b.parker.unpark();
  }
  /// Leaves a token that claims nothing: the worker looks up, and may sleep on.
  void nudge(worker_id w) noexcept { beds_[w.value].parker.unpark(); }

  // --- the sleeper

  /// Counts that worker w goes to sleep, after so many tasks that it has begun.
  void count_park(worker_id w, std::uint64_t begun) noexcept {
    bed& b = beds_[w.value];
    add_own(b.counts.parks, 1);
    if (b.begun_at_wake == begun) add_own(b.counts.wakes_in_vain, 1);
  }
  /// Notes how many tasks w had begun when another thread woke it; nothing: its sleep ended otherwise.
  void note_wake(worker_id w, std::optional<std::uint64_t> begun) noexcept {
    beds_[w.value].begun_at_wake = begun;
  }
  /// Step W1. It is counted before its bit is set, so that a waker cannot count down before.
  void lie_down(worker_id w, bool retired) noexcept {
    const std::uint64_t weight = retired ? one_retired : one_active;
    beds_[w.value].weight.store(weight, std::memory_order_relaxed);
    asleep_.fetch_add(weight, std::memory_order_seq_cst);     // pairs: P2, W2
    boards_[layout_[w].group.value]->parked.set(index_of(w)); // pairs: claim
  }
  enum class woken : std::uint8_t { by_token, by_driver, in_time };

  /// Step W4. Sleeps until a token comes, the driver has found something, or `timeout` has passed.
  [[gnu::hot]] woken sleep(worker_id w, std::optional<std::chrono::nanoseconds> timeout) noexcept {
    bed& b = beds_[w.value];
    if (drivers_.any()) [[unlikely]]
      if (driver* const d = may_drive(w) ? drivers_.take_to_sleep(layout_[w].group) : nullptr)
        return sleep_in(*d, w, timeout);
    return b.parker.park(timeout) ? woken::by_token : woken::in_time;
  }
  /// Returns the tasks that the driver found while the worker slept in it.
  ready_tasks& found(worker_id w) noexcept { return beds_[w.value].found; }
  /// The first half of W5. Returns false if a waker has claimed the worker, which must call `await_call`
  /// then.
  bool claim_itself(worker_id w) noexcept { return claim(layout_[w].group, index_of(w)); }
  /// The second half of W5: waits until the waker has counted the worker.
  void await_call(worker_id w) noexcept {
    bed& b = beds_[w.value];
    while (!b.counted.load(std::memory_order_acquire)) b.parker.park({}); // pairs: count
    // The next waker sees the bit that this worker sets after this.
    b.counted.store(false, std::memory_order_relaxed);
  }

  // --- the end

  /// Wakes all sleepers for good: no worker goes to sleep any more. Call from any thread.
  void end() noexcept {
    ended_.store(true, std::memory_order_seq_cst); // pairs: P2, W2
    full_fence(); // with W2: a worker that does not see the flag is seen asleep, or finds the token
    for (std::size_t w = 0; w < layout_.size(); ++w) beds_[w].parker.unpark();
  }
  bool ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

 private:
  struct alignas(128) bed {
    detail::parker parker;
    atomic<bool> counted{false};
    atomic<std::uint64_t> weight{one_active}; // its part of `asleep_`; published by its parked bit
    counters counts;
    ready_tasks found; // the owner's, and the next
    /// How many tasks the worker had begun when another thread woke it; nothing: its last sleep ended otherwise.
    std::optional<std::uint64_t> begun_at_wake;
  };

  // The two halves of `asleep_`.
  static constexpr std::uint64_t one_active = 1;
  static constexpr std::uint64_t one_retired = std::uint64_t{1} << 32;
  static std::uint32_t active_of(std::uint64_t asleep) noexcept { return static_cast<std::uint32_t>(asleep); }
  static std::uint32_t retired_of(std::uint64_t asleep) noexcept {
    return static_cast<std::uint32_t>(asleep >> 32);
  }
  std::size_t index_of(worker_id w) const noexcept {
    return w.value - layout_.of_group(layout_[w].group).front().id.value;
  }

  /// Returns whether the worker sleeps in its group's driver, if that is free: where all workers of a group
  /// have retired, these do.
  bool may_drive(worker_id w) const noexcept {
    const std::uint32_t active = boards_[layout_[w].group.value]->active.load(std::memory_order_relaxed);
    return active == 0 || index_of(w) < active;
  }
  [[gnu::noinline]] woken sleep_in(driver& d, worker_id w,
                                   std::optional<std::chrono::nanoseconds> timeout) noexcept {
    bed& b = beds_[w.value];
    const bool token = b.parker.park_in(d, timeout, b.found);
    static_cast<void>(drivers_.let_go(layout_[w].group)); // K3; a visitor cannot have come
    return token ? woken::by_token : woken::by_driver;
  }

  const worker_layout& layout_;
  std::span<const std::unique_ptr<group_board>> boards_;
  detail::drivers drivers_;
  std::unique_ptr<bed[]> beds_;
  alignas(128) atomic<std::uint64_t> asleep_{0}; // active workers; above them, retired ones
  atomic<bool> ended_{false};
};

} // namespace corewise::detail
