#pragma once

#include "base/process_fork.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <memory>

namespace corewise::detail {

/// An object of which each process has its own, made at its first use. It is never destroyed: engines may be static objects.
/// The child of a process fork begins with a new one: it has no thread of its parent's, and locks in the parent's may be
/// held for ever.
///
/// | tag    | release site | acquire site   | publishes  | weakened                     |
/// |--------|--------------|----------------|------------|------------------------------|
/// | newest | get: CAS     | get: load, CAS | the object | a thread locks one half-made |
template <class T> class per_process {
 public:
  /// Call from any thread. Throws what making a `T` throws.
  T& get() {
    entry* there = newest_.load(std::memory_order_acquire); // pairs: newest
    if (there != nullptr && there->process == process_number()) return there->object;
    auto mine = std::make_unique<entry>();
    if (newest_.compare_exchange_strong(there, mine.get(), std::memory_order_acq_rel, // pairs: newest
                                        std::memory_order_acquire))                   // pairs: newest
      return mine.release()->object;
    return there->object;
  }

 private:
  struct entry {
    const std::uint32_t process = process_number();
    T object;
  };
  atomic<entry*> newest_{nullptr};
};

} // namespace corewise::detail
