#pragma once

#include "timers/timer_group.hpp"
#include "worker/worker.hpp"

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>
#include <corewise/topology/binding.hpp>

namespace corewise::detail {

/// Memory on one node, handed out piece by piece and given back as a whole.
class node_arena {
 public:
  /// Writes to `why` if the kernel refuses to bind the memory. Throws `std::bad_alloc`.
  node_arena(std::size_t bytes, std::optional<std::uint32_t> node, refusal* why)
      : memory_(bytes, node, why) {}

  /// Returns room for `count` objects. The caller asks for no more than the arena has.
  template <class T> T* take(std::size_t count) noexcept {
    used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    auto* at = static_cast<std::byte*>(memory_.data()) + used_;
    used_ += count * sizeof(T);
    return reinterpret_cast<T*>(at);
  }

 private:
  node_memory memory_;
  std::size_t used_ = 0;
};

/// The data that a group's workers write, on the group's node (design.md, D6): board entries, queues and the seats
/// themselves.
class group_state {
 public:
  struct sizes {
    std::uint32_t ring;
    std::uint32_t inbox; ///< both powers of two; no inbox: unbounded
  };

  group_state(std::span<const worker_place> workers, sizes capacity, std::optional<std::uint32_t> node,
              refusal* why);
  group_state(const group_state&) = delete;
  group_state& operator=(const group_state&) = delete;
  ~group_state();

  /// Makes the seats. Call it once.
  void make_seats(shared& engine, std::span<const worker_place> workers);

  board_entry* entries() const noexcept { return entries_; }
  std::span<worker> seats() const noexcept { return {seats_, made_}; }
  injection_queue& injection() noexcept { return injection_; }
  timer_group& timers() noexcept { return *timers_; }

  /// Returns which part of their capacity the group's cores have now, as the host allows it or as it was measured, in
  /// percent. Call from any thread. Relaxed: a number.
  std::uint32_t speed() const noexcept { return speed_.load(std::memory_order_relaxed); }
  /// Returns that capacity of theirs at this speed.
  std::uint64_t at_speed(std::uint64_t capacity) const noexcept {
    return std::clamp<std::uint64_t>(capacity * speed() / 100, 1, full_capacity);
  }
  void set_speed(std::uint32_t percent) noexcept { speed_.store(percent, std::memory_order_relaxed); }

 private:
  sizes capacity_;
  node_arena arena_;
  board_entry* entries_;
  worker* seats_;
  timer_group* timers_;
  std::size_t made_ = 0;
  atomic<std::uint32_t> speed_{100};
  injection_queue injection_;
};

} // namespace corewise::detail
