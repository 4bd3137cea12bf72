#pragma once

#include "base/fence.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

// One object that many threads read and one replaces, as a whole and at any time.
//
// Invariant: an old object is destroyed when no holder holds it any more, by the last thread that lets go of
// it, and never before.
//
// Each reader writes down the object that it uses in a `holder` of its own. Workers keep theirs from one tick
// to the next, so they pay one load a tick. A thread that submits from outside takes hold for each task and
// pays two plain stores: the fence in between is there anyway.
//
//     reader                                    replacer
//     H1  held = newest                         R1  newest = the new object
//     H2  full fence                            R2  full fence
//     H3  newest is still the same: use it;     R3  no holder holds the old one: destroy it
//         else begin again
//
// One of the two fences comes first. If H2 comes first, R3 sees the hold. If R2 comes first, H3 sees the new
// object, and the reader does not look into the old one. A thread that held an old object reclaims when it
// has let go, even if H3 has led it to a newer object meanwhile. But it may let go a moment after R3 has seen
// its hold, and not know yet that there is a newer object. So an old object may stay until a thread reclaims
// once more. The next replacer does so, and so does a thread that asks for the number of old objects.
// tests/model/swapped.pml proves it, and that it fails without a fence, without the second look and without
// that last reclaiming.
//
// For a moment a reader may seem to hold two old objects: R3 finds the one that it is about to let go, and
// then the one that it has announced, which H3 will find old.
//
// | tag    | release site        | acquire site        | publishes               | weakened                 |
// |--------|---------------------|---------------------|-------------------------|--------------------------|
// | newest | replace: store      | newest, confirm:    | the contents of the     | a reader sees half of it |
// |        |                     | loads               | object                  |                          |
// | held   | holder: every store | reclaim: its load   | that the reader is done | destroyed under a reader |
// | H2, R2 | full_fence          | full_fence          | nothing; order only     | destroyed though just    |
// |        | (seq_cst)           | (seq_cst)           |                         | taken                    |
// | once   | asked_,             | the same (seq_cst): | that the asking thread  | two threads leave an old |
// |        | reclaiming_:        | loads, exchanges    | has let go              | one to each other, and   |
// |        | stores, exchanges   |                     |                         | it stays                 |
//
// Rejected: counting the users in the object (a locked instruction on a line that all threads share, for each
// task); epochs (a worker in a task that does not end would keep every later object alive, too: here it keeps
// the one that it uses, so there are never more old objects than two for each reader); keeping all of them (a
// daemon that adapts itself reloads often).
//
// Source: Michael, "Hazard Pointers", doi:10.1109/TPDS.2004.8.

namespace corewise::detail {

template <class T> class holder;

template <class T> class swapped {
 public:
  explicit swapped(std::unique_ptr<const T> first) noexcept : newest_(first.release()) {}
  swapped(const swapped&) = delete;
  swapped& operator=(const swapped&) = delete;
  /// Call when no reader is left.
  ~swapped() { delete newest_.load(std::memory_order_relaxed); }

  /// Returns the newest object, to be compared. Only a thread that keeps it from being replaced may look into
  /// it. Call from any thread.
  const T* newest() const noexcept { return newest_.load(std::memory_order_acquire); } // pairs: newest

  /// Makes room, so that the next `replace` does not throw. Call from any thread. Throws `std::bad_alloc`.
  void make_room() {
    const std::scoped_lock lock(mutex_);
    old_.reserve(old_.size() + 1);
  }

  /// Replaces the newest object. Call from one thread at a time. Throws `std::bad_alloc`, and then nothing
  /// has changed.
  void replace(std::unique_ptr<const T> next) {
    const std::scoped_lock lock(mutex_);
    old_.reserve(old_.size() + 1);
    old_.emplace_back(newest_.load(std::memory_order_relaxed));
    old_count_.store(old_.size(), std::memory_order_relaxed);
    newest_.store(next.release(), std::memory_order_release); // R1, pairs: newest
  }

  /// Destroys the old objects that no holder holds; `each_holder(f)` calls f with every holder. Call from any
  /// thread. Cost: a lock, and a load for each holder.
  template <class EachHolder> void reclaim(const EachHolder& each_holder) noexcept {
    const std::scoped_lock lock(mutex_);
    full_fence(); // R2
    std::erase_if(old_, [&](const std::unique_ptr<const T>& candidate) {
      bool held = false;
      each_holder([&](const holder<T>& h) { held = held || h.holds(candidate.get()); }); // R3
      return !held;
    });
    old_count_.store(old_.size(), std::memory_order_relaxed);
  }

  /// Acts as `reclaim`, for many threads that let go at the same time: a thread that finds another one
  /// reclaiming leaves it to that one, which begins again.
  template <class EachHolder> void reclaim_once(const EachHolder& each_holder) noexcept {
    asked_.store(true, std::memory_order_seq_cst); // pairs: once
    // Either this thread finds the other one gone, or the other one finds that it was asked.
    while (asked_.load(std::memory_order_seq_cst) && // pairs: once
           !reclaiming_.exchange(true, std::memory_order_seq_cst)) {
      // Read, not overwritten: the reclaiming below sees what the threads let go that have asked by now.
      (void)asked_.exchange(false, std::memory_order_seq_cst); // pairs: once
      reclaim(each_holder);
      reclaiming_.store(false, std::memory_order_seq_cst); // pairs: once
    }
  }

  /// Calls f with the newest object, which stays meanwhile. Returns the result of f, which must not call the
  /// engine. Call from any thread. Cost: a lock.
  template <class F> auto read(const F& f) const {
    const std::scoped_lock lock(mutex_);
    return f(*newest_.load(std::memory_order_relaxed));
  }

  /// Returns how many old objects there still are, as a number for people. Call from any thread.
  std::size_t old() const noexcept { return old_count_.load(std::memory_order_relaxed); }

 private:
  alignas(128) atomic<const T*> newest_; // a line that hardly ever changes
  alignas(128) mutable mutex mutex_;
  std::vector<std::unique_ptr<const T>> old_;
  atomic<std::size_t> old_count_{0};
  atomic<bool> asked_{false};
  atomic<bool> reclaiming_{false};
};

/// The object that one reader uses, if any. Use by one thread at a time.
template <class T> class holder {
 public:
  /// The object that is held, or null.
  const T* get() const noexcept { return held_.load(std::memory_order_relaxed); } // own

  /// Holds the newest object from here on. Returns false if it did already. Cost: a load; a fence when the
  /// object has changed.
  bool take(const swapped<T>& from) noexcept {
    if (from.newest() == get()) return false;
    announce(from);
    full_fence(); // H2
    confirm(from);
    return true;
  }

  /// Step H1. The reader may look into the held object after `confirm`, with a full fence in between.
  void announce(const swapped<T>& from) noexcept {
    const T* newest = from.newest();
    hold(newest);
  }
  /// Step H3.
  const T& confirm(const swapped<T>& from) noexcept {
    while (from.newest() != get()) {
      announce(from);
      full_fence(); // H2
    }
    return *get();
  }

  void let_go() noexcept { hold(nullptr); }

  /// Returns whether `one` is held. Call from any thread.
  bool holds(const T* one) const noexcept {
    return held_.load(std::memory_order_acquire) == one; // pairs: held
  }

 private:
  void hold(const T* one) noexcept { held_.store(one, std::memory_order_release); } // pairs: held

  atomic<const T*> held_{nullptr};
};

} // namespace corewise::detail
