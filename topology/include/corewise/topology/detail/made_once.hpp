#pragma once

#include <atomic>

namespace corewise::detail {

/// A table that its first reader makes. A static object of a function would hold a lock meanwhile, and the
/// child of a process fork might find it held for ever. Two first readers may both make one; then one of them
/// is kept.
///
/// | tag  | release site | acquire site   | publishes | weakened              |
/// |------|--------------|----------------|-----------|-----------------------|
/// | made | get: CAS     | get: load, CAS | the table | a reader sees half of |
template <class T> class made_once {
 public:
  constexpr explicit made_once(T (*make)()) noexcept : make_(make) {}
  made_once(const made_once&) = delete;
  made_once& operator=(const made_once&) = delete;
  ~made_once() { delete made_.exchange(nullptr, std::memory_order_relaxed); }

  /// Call from any thread. Throws what making it throws.
  const T& get() const {
    const T* there = made_.load(std::memory_order_acquire); // pairs: made
    if (there != nullptr) return *there;
    const auto* const mine = new T(make_());
    if (made_.compare_exchange_strong(there, mine, std::memory_order_acq_rel, // pairs: made
                                      std::memory_order_acquire))             // pairs: made
      return *mine;
    delete mine;
    return *there;
  }

 private:
  T (*make_)();
  mutable std::atomic<const T*> made_{nullptr};
};

} // namespace corewise::detail
