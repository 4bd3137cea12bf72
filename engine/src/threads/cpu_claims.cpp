#include "threads/cpu_claims.hpp"

#include "base/process_fork.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace corewise::detail {

namespace {

struct claims {
  const std::uint32_t process = process_number();
  detail::mutex mutex;
  std::vector<std::unique_ptr<cpu_set>> all;
};

constinit atomic<claims*> newest{nullptr};

/// Returns the claims of the process. They are never destroyed: engines may be static objects. The child of a
/// process fork begins with none: it has no thread of its parent's engines, and the lock may be held for
/// ever.
///
/// | tag    | release site        | acquire site              | publishes  | weakened                     |
/// |--------|---------------------|---------------------------|------------|------------------------------|
/// | newest | process_claims: CAS | process_claims: load, CAS | the claims | a thread locks one half-made |
claims& process_claims() {
  claims* there = newest.load(std::memory_order_acquire); // pairs: newest
  if (there != nullptr && there->process == process_number()) return *there;
  auto mine = std::make_unique<claims>();
  if (newest.compare_exchange_strong(there, mine.get(), std::memory_order_acq_rel, // pairs: newest
                                     std::memory_order_acquire))                   // pairs: newest
    return *mine.release();
  return *there;
}

} // namespace

cpu_claim::cpu_claim(cpu_set cpus) {
  claims& others = process_claims();
  const std::scoped_lock lock(others.mutex);
  for (const auto& other : others.all) overlap_ |= cpus & *other;
  others.all.push_back(std::make_unique<cpu_set>(std::move(cpus)));
  key_ = others.all.back().get();
}

cpu_claim::cpu_claim(cpu_claim&& other) noexcept
    : key_(std::exchange(other.key_, nullptr)),
      overlap_(std::move(other.overlap_)) {}

cpu_claim& cpu_claim::operator=(cpu_claim&& other) noexcept {
  std::swap(key_, other.key_);
  std::swap(overlap_, other.overlap_);
  return *this;
}

cpu_claim::~cpu_claim() {
  if (key_ == nullptr) return;
  claims& others = process_claims();
  const std::scoped_lock lock(others.mutex);
  std::erase_if(others.all, [&](const auto& one) { return one.get() == key_; });
}

} // namespace corewise::detail
