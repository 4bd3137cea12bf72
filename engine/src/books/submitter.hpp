#pragma once

#include "books/ledger.hpp"
#include "queues/segment_writer.hpp"
#include "rules/rules.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace corewise::detail {

/// What an engine keeps for a thread that submits to it from outside its seats: the thread's books and what
/// its placing remembers. Lives as long as the engine; when its thread ends another one takes it over, counts
/// and all.
///
/// | tag   | release site                   | acquire site  | publishes               | weakened                       |
/// |-------|--------------------------------|---------------|-------------------------|--------------------------------|
/// | taken | the thread's end: taken, store | take_one: CAS | the books, and all that | the next thread counts from an |
/// |       |                                |               | placing remembers       | older number: tasks get lost   |
struct submitter {
  explicit submitter(std::uint64_t seed) noexcept : rng(seed) {}

  ledger books;
  holder<rules> by; ///< what the task that is on its way goes by
  placement_rng rng;
  placement_cursor cursor;
  placement last; ///< where its last task went; `last.repeat` more may follow unasked
  std::optional<std::uint32_t> last_cpu;
  segment_writer overflow; ///< for what inboxes have no room for
  std::atomic<bool> taken{true};
};

/// The submitters of one engine.
class submitter_registry {
 public:
  submitter_registry();

  /// The calling thread's. Cost: a thread-local look-up; the first time, a lock and an allocation.
  /// Throws `std::bad_alloc`.
  [[gnu::hot]] submitter& mine();

  /// Calls f with the record of every thread that ever submitted.
  template <class F> void for_each(F f) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& s : all_) f(static_cast<const submitter&>(*s));
  }

 private:
  std::shared_ptr<submitter> take_one();

  const std::uint64_t engine_; // a number, not an address: addresses come back
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<submitter>> all_;
};

} // namespace corewise::detail
