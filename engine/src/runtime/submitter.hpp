#pragma once

#include "ledger.hpp"

#include <corewise/policies/policy.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace corewise::detail {

/// What an engine keeps for a thread that submits to it from outside its seats: the thread's books and what
/// its placing remembers. Lives as long as the engine; when its thread ends another one takes it over, counts
/// and all.
struct submitter {
  explicit submitter(std::uint64_t seed) noexcept : rng(seed) {}

  ledger books;
  placement_rng rng;
  placement_cursor cursor;
  placement last; ///< where its last task went; `last.repeat` more may follow unasked
  std::optional<std::uint32_t> last_cpu;
  std::atomic<bool> taken{true};
};

/// The submitters of one engine.
class submitter_registry {
 public:
  submitter_registry();

  /// The calling thread's. Cost: a thread-local look-up; the first time, a lock and an allocation.
  /// Throws `std::bad_alloc`.
  submitter& mine();

  /// Calls f with the books of every thread that ever submitted.
  template <class F> void for_each_ledger(F f) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& s : all_) f(s->books);
  }

 private:
  std::shared_ptr<submitter> take_one();

  const std::uint64_t engine_; // a number, not an address: addresses come back
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<submitter>> all_;
};

} // namespace corewise::detail
