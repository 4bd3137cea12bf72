#pragma once

#include <corewise/engine/detail/task_header.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace corewise::detail {

/// A task on its way from one thread to another: a copy of a small closure, or the address of any other task. Of a copy the
/// block stays with the thread that put it in, and another is taken where it comes out: no block's line goes from core to
/// core and back (ADR 0035).
class carried_task {
 public:
  /// Whether `t` is carried as a copy. What has a class of its own is not: who looks after all tasks of a class cannot leave one
  /// where it is for want of a block.
  static bool copies(const task_header* t) noexcept {
    return t->relocatable && t->run_as == task_class::normal;
  }

  /// Takes the task over, but not the block of one that is copied: that is still the caller's, who gives it back.
  void put(task_header* t) noexcept {
    if (!copies(t)) {
      word_ = std::bit_cast<std::uint64_t>(t);
      return;
    }
    word_ = std::bit_cast<std::uint64_t>(t->act) | std::uint64_t{t->phase} << phase_at | copy;
    const auto* bytes = reinterpret_cast<const std::byte*>(t);
    asm("" : "+r"(bytes)); // it is more than its header, whatever GCC has seen
    std::memcpy(value_, bytes + sizeof(task_header), sizeof(value_));
  }

  bool copied() const noexcept { return (word_ & copy) != 0; }
  task_header* address() const noexcept { return std::bit_cast<task_header*>(word_); }
  /// Puts the copy into a block of size class 0, which is the task's from here on.
  task_header* unpack(void* block) const noexcept {
    std::memcpy(static_cast<std::byte*>(block) + sizeof(task_header), value_, sizeof(value_));
    auto* const t = ::new (block) task_header;
    t->act = std::bit_cast<bool (*)(task_header*, task_action)>(word_ & act_bits);
    t->phase = static_cast<std::uint8_t>((word_ & ~copy) >> phase_at);
    t->relocatable = true;
    return t;
  }

 private:
  // The uppermost byte of an address is 0 on the machines that there are.
  static constexpr std::uint64_t copy = std::uint64_t{1} << 63;
  static constexpr unsigned phase_at = 56;
  static constexpr std::uint64_t act_bits = (std::uint64_t{1} << phase_at) - 1;
  static_assert(sizeof(task_header) + relocatable_bytes <= block_sizes[0]);

  std::uint64_t word_;
  std::byte value_[relocatable_bytes];
};

} // namespace corewise::detail
