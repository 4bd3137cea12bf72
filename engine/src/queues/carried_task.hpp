#pragma once

#include <corewise/engine/detail/task_header.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace corewise::detail {

/// A task on its way from one thread to another: a copy of a small closure, or the address of any other task.
/// The producer keeps the block of a copied closure, and the taker unpacks the copy into a block of its own.
/// So no block's cache line goes from core to core and back (ADR 0035).
class carried_task {
 public:
  /// Returns whether `t` is carried as a copy. A task of the class latency or background is not: the thread
  /// that empties a class queue must not come to a task that it cannot take for want of a block.
  static bool copies(const task_header* t) noexcept {
    return t->relocatable && t->run_as == task_class::normal;
  }

  /// Takes the task over. The block of a copied task stays with the caller, which gives it back.
  void put(task_header* t) noexcept {
    if (!copies(t)) {
      word_ = std::bit_cast<std::uint64_t>(t);
      return;
    }
    word_ = std::bit_cast<std::uint64_t>(t->act) | std::uint64_t{t->phase} << phase_at | copy;
    const auto* bytes = reinterpret_cast<const std::byte*>(t);
    asm("" : "+r"(bytes)); // GCC may have seen the header only; the closure has more
    std::memcpy(value_, bytes + sizeof(task_header), sizeof(value_));
  }

  bool copied() const noexcept { return (word_ & copy) != 0; }
  task_header* address() const noexcept { return std::bit_cast<task_header*>(word_); }
  /// Unpacks the copy into `block`, which is of size class 0 and belongs to the task from then on.
  task_header* unpack(void* block) const noexcept {
    std::memcpy(static_cast<std::byte*>(block) + sizeof(task_header), value_, sizeof(value_));
    auto* const t = ::new (block) task_header;
    t->act = std::bit_cast<bool (*)(task_header*, task_action)>(word_ & act_bits);
    t->phase = static_cast<std::uint8_t>((word_ & ~copy) >> phase_at);
    t->relocatable = true;
    return t;
  }

 private:
  // The uppermost byte of an address is 0 on all machines that exist.
  static constexpr std::uint64_t copy = std::uint64_t{1} << 63;
  static constexpr unsigned phase_at = 56;
  static constexpr std::uint64_t act_bits = (std::uint64_t{1} << phase_at) - 1;
  static_assert(sizeof(task_header) + relocatable_bytes <= block_sizes[0]);

  std::uint64_t word_;
  std::byte value_[relocatable_bytes];
};

} // namespace corewise::detail
