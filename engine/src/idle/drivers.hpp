#pragma once

#include <corewise/engine/driver.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/topology/ids.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

// Which thread looks into a group's driver, and which worker sleeps in it.
//
// Invariant: while all workers of a group sleep, one of them sleeps in its driver, or a thread is about to
// wake one of them.
//
// One word a driver says whether a thread holds it, and how. Only the holder polls or sleeps there:
//
//     free ──► polled ──► free             a worker of the group, which polls it before it rests and at the
//       │                                  end of each tick
//       ├────► slept_in ──► free           a worker of the group, from W3 to W5 (sleepers.hpp)
//       └────► visited ──► free            a searcher of another group
//                 └──► wanted ──► free     and a worker of the group has lain down meanwhile
//
//     sleeper, after W3                           visitor
//     K1  the driver is free: slept_in;           Y1  the driver is free: visited
//         it is visited: wanted                   Y2  poll it
//     K2  sleep there, or without it              Y3  free; it was wanted: wake a sleeper of the group
//     K3  free
//     K4  has retired: full fence; the driver
//         is free: wake a sleeper of the group;
//         it is visited: wanted
//
// A sleeper that finds the driver polled leaves it to the poller. That one is awake, and looks for the driver
// when it lies down itself; the same holds for a sleeper that was woken. So a worker that leaves the driver
// with events wakes no other for it. Otherwise each event would wake two workers (the illness of ADR 0032).
// If the worker then runs a long task while others of its group sleep, the lookout wakes one
// (driver_watch.hpp).
//
// Where all workers of a group have retired, one of these sleeps in its driver, and is woken for it.
//
// A waker leaves the token first, and interrupts the driver then (parker.hpp). If it is another holder that
// takes the interrupt, the sleeper has left the driver, and finds the token.
//
// A thread outside that begins an operation may find the group's other workers in long tasks. It need not wait for the
// lookout:
//
//     O1  the driver is free: O2; it is visited: wanted
//     O2  full fence: a sleeper that found the driver held, after W2, is seen asleep; wake a sleeper of the group
//
// tests/model/driver.pml proves all this for tasks, events, a timer and the stop. It also shows that it fails
// - when a sleeper does not say that it wants the driver, when a visitor does not ask, or wakes no worker that has
//   retired where all have, and when a worker that retires does not hand the driver over, also through a visitor;
// - when the token and the look at the sleeper's state are two steps, or the interrupt comes before the token;
// - when the stop leaves no tokens, or leaves them before it says that the engine stops;
// - without O2, without O1's mark for the visitor, and without the fence;
// - when the sentinel's alarm in the driver is not set, not set anew for another time, or counts as set when it has rung.
//
// | tag    | release site        | acquire site  | publishes                   | weakened             |
// |--------|---------------------|---------------|-----------------------------|----------------------|
// | driver | let_go: exchange    | take: CAS     | what the holder did there   | two threads poll     |
// | known  | attach: store       | of, any: load | the driver                  | a driver that is     |
// |        |                     |               |                             | half made            |
//
// Rejected: a hand-over of the driver at each event (see above); every sleeper in the driver (each event wakes
// all of them, or the kernel chooses one); a thread for the driver (two more switches an event).

namespace corewise::detail {

class drivers {
 public:
  explicit drivers(std::size_t groups) : seats_(std::make_unique<seat[]>(groups)), kept_(groups) {}

  /// Keeps the drivers, by group. Returns false if it has some already. Call from one thread at a time; wake
  /// all sleepers then, so that they lie down in the drivers.
  bool attach(std::vector<std::shared_ptr<driver>> by_group) noexcept {
    if (any()) return false;
    kept_ = std::move(by_group);
    for (std::size_t g = 0; g < kept_.size(); ++g)
      seats_[g].of.store(kept_[g].get(), std::memory_order_release); // pairs: known
    any_.store(true, std::memory_order_release);                     // pairs: known
    return true;
  }
  /// Returns whether there are drivers. Call from any thread. Cost: a load.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); } // pairs: known
  /// Returns the group's driver; null: it has none. Call from any thread.
  driver* of(group_id g) const noexcept {
    return seats_[g.value].of.load(std::memory_order_acquire); // pairs: known
  }

  /// Returns whether events may come to the driver of g. Call from any thread.
  bool outstanding(group_id g) const noexcept {
    const driver* const d = of(g);
    return d != nullptr && d->outstanding();
  }
  /// Returns whether no thread holds the driver of g. Call from any thread.
  bool free(group_id g) const noexcept {
    return seats_[g.value].held.load(std::memory_order_relaxed) == holder::none;
  }
  /// Returns whether a worker sleeps in it. Call from any thread.
  bool slept_in(group_id g) const noexcept {
    return seats_[g.value].held.load(std::memory_order_relaxed) == holder::sleeper;
  }
  /// Returns how often the driver of g was held. Call from any thread. Relaxed: a number that only grows.
  std::uint64_t times_held(group_id g) const noexcept {
    return seats_[g.value].times.load(std::memory_order_relaxed);
  }

  /// Notes that the workers of g are in long tasks: another group's worker that comes next serves what it finds. Call
  /// from one thread at a time.
  void note_neglected(group_id g) noexcept {
    seats_[g.value].neglected_at.store(times_held(g), std::memory_order_relaxed);
  }
  /// Returns whether that was noted, and no thread has held it since. Call from any thread.
  bool is_neglected(group_id g) const noexcept {
    return seats_[g.value].neglected_at.load(std::memory_order_relaxed) == times_held(g);
  }

  /// Looks into the driver of g, unless another thread holds it. Returns the number of events. Call from a
  /// worker of g.
  std::size_t poll(group_id g, std::size_t most, ready_tasks& found) noexcept {
    driver* const d = of(g);
    if (d == nullptr || !take(g, holder::poller)) return 0;
    const std::size_t events = d->poll(most, found);
    static_cast<void>(let_go(g));
    return events;
  }
  /// Steps Y1 to Y3 but for the wake-up: does the same from a worker of another group. `wanted` says whether a
  /// sleeper of g is to be woken.
  std::size_t visit(group_id g, std::size_t most, ready_tasks& found, bool& wanted) noexcept {
    driver* const d = of(g);
    if (d == nullptr || !take(g, holder::visitor)) return 0;
    const std::size_t events = d->poll(most, found);
    wanted = let_go(g);
    return events;
  }
  /// Step K4, and O1. Returns whether no thread holds the driver of g, so that a sleeper is to be woken for it; a
  /// visitor wakes one when it leaves.
  bool want(group_id g) noexcept {
    holder seen = seats_[g.value].held.load(std::memory_order_relaxed);
    while (seen == holder::visitor)
      if (seats_[g.value].held.compare_exchange_weak(seen, holder::wanted,
                                                     std::memory_order_acq_rel)) // pairs: driver
        return false;
    return seen == holder::none;
  }
  /// Step K1. Returns the driver of g, for its sleeper; null: another thread holds it, or there is none.
  driver* take_to_sleep(group_id g) noexcept {
    driver* const d = of(g);
    while (d != nullptr && !take(g, holder::sleeper)) {
      holder visited = holder::visitor;
      if (seats_[g.value].held.compare_exchange_strong(visited, holder::wanted,
                                                       std::memory_order_acq_rel)) // pairs: driver
        return nullptr;
      if (visited != holder::none) return nullptr;
    }
    return d;
  }
  /// Lets go of the driver of g. Returns whether a sleeper wants it. Call from its holder.
  bool let_go(group_id g) noexcept {
    return seats_[g.value].held.exchange(holder::none, std::memory_order_acq_rel) == // pairs: driver
           holder::wanted;
  }

  /// Lets the drivers look after themselves. Call from any thread.
  void look_after() const noexcept {
    if (!any()) return;
    for (const std::shared_ptr<driver>& d : kept_)
      if (d != nullptr) d->look_after();
  }
  /// Ends the drivers. Call when no worker is left.
  void end() noexcept {
    if (std::exchange(ended_, true)) return;
    for (const std::shared_ptr<driver>& d : kept_)
      if (d != nullptr) d->end();
  }

 private:
  enum class holder : std::uint32_t { none, poller, sleeper, visitor, wanted };

  struct alignas(128) seat {
    atomic<driver*> of{nullptr};
    atomic<holder> held{holder::none};
    atomic<std::uint64_t> times{0};            // written by the holder
    atomic<std::uint64_t> neglected_at{~0ULL}; // of `times`; relaxed: a hint where to run what is found
  };

  bool take(group_id g, holder as) noexcept {
    seat& s = seats_[g.value];
    holder free = holder::none;
    if (s.held.load(std::memory_order_relaxed) != holder::none ||
        !s.held.compare_exchange_strong(free, as, std::memory_order_acq_rel)) // pairs: driver
      return false;
    add_own(s.times, 1);
    return true;
  }

  std::unique_ptr<seat[]> seats_; // by group
  std::vector<std::shared_ptr<driver>> kept_;
  atomic<bool> any_{false};
  bool ended_ = false;
};

} // namespace corewise::detail
