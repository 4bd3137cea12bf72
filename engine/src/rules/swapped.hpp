#pragma once

#include "base/faults.hpp"
#include "base/fence.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

// One object that many read and one replaces, as a whole and at any time. An old one is destroyed when nobody uses it
// any more, by whoever lets go of it last.
//
// Each reader writes down what it uses, in a `holder` of its own. Workers keep theirs from one tick to the next, so they
// pay one load a tick; a thread that submits from outside takes hold for each task and pays two plain stores, since the
// fence that it needs in between is there anyway.
//
//     reader                                    replacer
//     H1  held = newest                         R1  newest = the new one
//     H2  full fence                            R2  full fence
//     H3  newest is still the same: use it;     R3  nobody holds the old one: destroy it
//         else from the beginning
//
// Of the two fences one comes first. If H2 does, R3 sees the hold; if R2 does, H3 sees the new one, and the old one is
// not looked into. Who held an old one reclaims when it has let go, even if H3 has led it to a newer one meanwhile; but it may
// let go a moment after R3 has seen its hold, and not know yet that there is a newer one. So an old one may be left until
// somebody reclaims once more, as the next replacer and who asks for the number do. tests/model/swapped.pml proves it, and
// that it fails without a fence, without the second look and without that last one.
//
// | tag    | release site            | acquire site           | publishes                   | weakened                      |
// |--------|-------------------------|------------------------|-----------------------------|-------------------------------|
// | newest | replace: store          | newest, confirm: loads | what the object holds       | a reader sees half of it      |
// | held   | holder: every store     | reclaim: its load      | that the reader is done     | destroyed under a reader      |
// | H2, R2 | full_fence (seq_cst)    | full_fence (seq_cst)   | nothing; order only         | destroyed though just taken   |
// | once   | asked_, reclaiming_:    | the same (seq_cst):    | that the one who asks has   | two leave an old one to each  |
// |        | stores, exchanges       | loads, exchanges       | let go                      | other, and nobody destroys it |
//
// Rejected: counting the users in the object (a locked instruction on a line that all share, for each task); epochs (a
// worker in a task that does not end would keep every later object alive, too: here it keeps the one that it uses, so
// there are never more than there are readers); keeping all of them (a daemon that adapts itself reloads often).
//
// Source: Michael, "Hazard Pointers", doi:10.1109/TPDS.2004.8.

namespace corewise::detail {

template <class T> class holder;

template <class T> class swapped {
 public:
  explicit swapped(std::unique_ptr<const T> first) noexcept : newest_(first.release()) {}
  swapped(const swapped&) = delete;
  swapped& operator=(const swapped&) = delete;
  /// No reader is left.
  ~swapped() { delete newest_.load(std::memory_order_relaxed); }

  /// Any thread. To be compared, or looked into by who keeps it from being replaced.
  const T* newest() const noexcept { return newest_.load(std::memory_order_acquire); } // pairs: newest

  /// Any thread. After this the next `replace` does not throw. Throws `std::bad_alloc`.
  void make_room() {
    const std::scoped_lock lock(mutex_);
    old_.reserve(old_.size() + 1);
  }

  /// One thread at a time. Throws `std::bad_alloc`, and then nothing has changed.
  void replace(std::unique_ptr<const T> next) {
    const std::scoped_lock lock(mutex_);
    old_.reserve(old_.size() + 1);
    old_.emplace_back(newest_.load(std::memory_order_relaxed));
    old_count_.store(old_.size(), std::memory_order_relaxed);
    interleave();
    newest_.store(next.release(), std::memory_order_release); // R1, pairs: newest
  }

  /// Destroys those that nobody holds; `each_holder(f)` calls f with every holder. Any thread. Cost: a lock, and a load
  /// for each holder.
  template <class EachHolder> void reclaim(const EachHolder& each_holder) noexcept {
    const std::scoped_lock lock(mutex_);
    interleave();
    full_fence(); // R2
    std::erase_if(old_, [&](const std::unique_ptr<const T>& candidate) {
      bool held = false;
      interleave();
      each_holder([&](const holder<T>& h) { held = held || h.holds(candidate.get()); }); // R3
      return !held;
    });
    old_count_.store(old_.size(), std::memory_order_relaxed);
  }

  /// The same, for many who let go at the same time: who finds another one at it leaves it to that one, which begins
  /// again.
  template <class EachHolder> void reclaim_once(const EachHolder& each_holder) noexcept {
    asked_.store(true, std::memory_order_seq_cst); // pairs: once
    interleave();
    // Either this one finds the other gone, or the other finds that it was asked.
    while (asked_.load(std::memory_order_seq_cst) && // pairs: once
           !reclaiming_.exchange(true, std::memory_order_seq_cst)) {
      // Read, not overwritten: what those let go who have asked by now is seen below.
      (void)asked_.exchange(false, std::memory_order_seq_cst); // pairs: once
      reclaim(each_holder);
      interleave();
      reclaiming_.store(false, std::memory_order_seq_cst); // pairs: once
      interleave();
    }
  }

  /// Calls f with the newest one, which stays meanwhile. Any thread; f does not call the engine. Cost: a lock.
  template <class F> auto read(const F& f) const {
    const std::scoped_lock lock(mutex_);
    return f(*newest_.load(std::memory_order_relaxed));
  }

  /// How many old ones there still are. Any thread; a number.
  std::size_t old() const noexcept { return old_count_.load(std::memory_order_relaxed); }

 private:
  alignas(128) std::atomic<const T*> newest_; // a line that hardly ever changes
  alignas(128) mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const T>> old_;
  std::atomic<std::size_t> old_count_{0};
  std::atomic<bool> asked_{false};
  std::atomic<bool> reclaiming_{false};
};

/// What one reader uses, if anything. One thread at a time.
template <class T> class holder {
 public:
  /// What is held; null: nothing.
  const T* get() const noexcept { return held_.load(std::memory_order_relaxed); } // own

  /// Holds the newest from here on. False: it did already. Cost: a load; a fence when it has changed.
  bool take(const swapped<T>& from) noexcept {
    if (from.newest() == get()) return false;
    announce(from);
    interleave();
    full_fence(); // H2
    interleave();
    confirm(from);
    return true;
  }

  /// H1. What is held may be looked into after `confirm`, with a full fence in between.
  void announce(const swapped<T>& from) noexcept {
    const T* newest = from.newest();
    interleave();
    hold(newest);
  }
  /// H3.
  const T& confirm(const swapped<T>& from) noexcept {
    while (from.newest() != get()) {
      announce(from);
      interleave();
      full_fence(); // H2
      interleave();
    }
    return *get();
  }

  void let_go() noexcept { hold(nullptr); }

  /// Any thread.
  bool holds(const T* one) const noexcept {
    return held_.load(std::memory_order_acquire) == one; // pairs: held
  }

 private:
  void hold(const T* one) noexcept { held_.store(one, std::memory_order_release); } // pairs: held

  std::atomic<const T*> held_{nullptr};
};

} // namespace corewise::detail
