#pragma once

#include "books/ledger.hpp"
#include "queues/segment_writer.hpp"
#include "rules/rules.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/policy.hpp>
#include <corewise/policies/repeated_placement.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace corewise::detail {

/// The engine's record of a thread that submits to it from outside its seats: the thread's books and the
/// state of its placing. It lives as long as the engine. When its thread ends, another thread takes the
/// record over, counts and all.
///
/// | tag   | release site      | acquire site     | publishes          | weakened                       |
/// |-------|-------------------|------------------|--------------------|--------------------------------|
/// | taken | the thread's end: | take_one: CAS    | the books, and the | the next thread counts from an |
/// |       | store of `taken`  |                  | state of placing   | older number: tasks get lost   |
/// | left  | waking: store of  | wait_for_wakers: | the waker's last   | the engine is destroyed under  |
/// |       | `wakes`           | load             | use of the engine  | a waker                        |
struct submitter {
  explicit submitter(std::uint64_t seed) noexcept : rng(seed) {}

  ledger books;
  holder<rules> by; ///< the rules for the task that is being submitted
  placement_rng rng;
  placement_cursor cursor;
  repeated_placement last; ///< where its last task went
  segment_writer overflow; ///< for tasks for which inboxes have no room
  atomic<bool> taken{true};
  atomic<bool> wakes{false}; ///< its thread, which is not the engine's, queues a coroutine that it woke
};

/// The submitters of one engine.
class submitter_registry {
 public:
  submitter_registry();
  submitter_registry(const submitter_registry&) = delete;
  submitter_registry& operator=(const submitter_registry&) = delete;
  /// Ends what the threads have begun in the engine's queues: their records may outlive these.
  ~submitter_registry();

  /// Returns the calling thread's record. Cost: a thread-local look-up; the first time, a lock and an
  /// allocation, and a search when the thread has used another engine since. Throws `std::bad_alloc`.
  [[gnu::hot]] submitter& mine();

  /// Count a task of `phase` that comes in, or has ended, in the calling thread's record. Cost: that of `mine`;
  /// without memory for a record, a lock.
  void count_submitted(std::uint8_t phase) noexcept;
  void count_finished(std::uint8_t phase) noexcept;

  /// Waits until each submitter that was let in before the engine closed has queued its task. The submitter
  /// announces its rules until then (H1 to H3 of swapped.hpp; its fence is that of `closed_meanwhile`). It needs
  /// a few steps, in which it waits for no thread.
  void wait_for_arriving() const;
  /// Waits until the threads from outside have left that woke coroutines of this engine. Call when these
  /// coroutines are gone: then whatever such a thread did before it queued one is visible afterwards.
  void wait_for_wakers() const;

  /// Calls f with the record of every thread that ever submitted.
  template <class F> void for_each(F f) const {
    const std::scoped_lock lock(mutex_);
    f(shared_);
    for (const auto& s : all_) f(static_cast<const submitter&>(*s));
  }

 private:
  [[gnu::cold]] submitter& look_up();
  template <class Count> void count(const Count& add_to) noexcept;
  const std::shared_ptr<submitter>& take_one();

  const std::uint64_t engine_; // a number, not an address: addresses are used again
  mutable mutex mutex_;
  std::vector<std::shared_ptr<submitter>> all_;
  submitter shared_{0}; // of threads that have no memory for their own: its books are changed under the lock
};

} // namespace corewise::detail
