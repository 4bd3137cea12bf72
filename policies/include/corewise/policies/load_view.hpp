#pragma once

#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_board.hpp>
#include <corewise/policies/load_levels.hpp>
#include <corewise/policies/worker_load.hpp>
#include <corewise/topology/workers.hpp>

#include <array>
#include <memory>
#include <span>

namespace corewise {

/// The task time at and below which `spill` and `steal.minimum_at` hold in full; longer tasks are sent away, and
/// taken from afar, more easily.
inline constexpr std::uint64_t spill_task_time_ns = 50'000;

/// The board of one group: a board entry per worker, and which workers are idle. The engine, the simulator and
/// `explain` each own theirs.
struct group_board {
 private:
  // The words that a policy reads before any board entry: for up to 16 workers they are one cache line.
  struct alignas(64) line {
    std::array<unsigned char, 64> bytes{};
  };
  std::unique_ptr<line[]> lines_;

 public:
  group_board(std::size_t workers, board_entry* first);

  board_entry* entries;                 ///< one per worker of the group, on the group's node
  detail::atomic<std::uint32_t> active; ///< so many, from the first on, take part; the others have retired
  worker_bits spinning;                 ///< awake without work: claiming one costs no system call
  worker_bits parked;                   ///< asleep
  worker_bits unavailable;              ///< in a blocking call, or retired: never placed on
  load_levels levels;                   ///< about how much each has to do; `no_worker` for retired ones
  /// About how long a task of its workers takes: for tasks from outside, and for workers from afar. On a line of its own,
  /// since workers whose tasks differ write it each tick. Relaxed: a number.
  alignas(64) detail::atomic<std::uint64_t> task_time_ns{spill_task_time_ns};

  /// Returns it. Call from any thread.
  std::uint64_t mean_task_time_ns() const noexcept { return task_time_ns.load(std::memory_order_relaxed); }
};

/// The loads and idle workers, by group, that a policy is shown. It reads the live words, so two looks may
/// differ.
class load_view {
 public:
  /// A view of `boards` and `layout`, which are the owner's and must outlive the view; one board per group.
  load_view(std::span<const std::unique_ptr<group_board>> boards, const worker_layout& layout,
            std::uint32_t ring_capacity, std::uint32_t inbox_capacity) noexcept
      : boards_(boards),
        layout_(&layout),
        ring_capacity_(ring_capacity),
        inbox_capacity_(inbox_capacity) {}

  const group_board& board(group_id g) const noexcept { return *boards_[g.value]; }
  const worker_layout& layout() const noexcept { return *layout_; }

  /// Loads of the worker at `index` in group g. Cost: three cache lines. Exact at rest.
  worker_load load(group_id g, std::size_t index) const noexcept { return load(board(g).entries[index]); }
  worker_load load(const board_entry& entry) const noexcept {
    const std::uint64_t head = entry.shared.ring_head.load(std::memory_order_acquire); // pairs: board
    const std::uint64_t in = entry.producers.inbox_in.load(std::memory_order_acquire); // pairs: board
    const std::uint64_t top = entry.shared.fork_top.load(std::memory_order_acquire);   // pairs: board
    const std::uint32_t tail = entry.owner.ring_tail.load(std::memory_order_relaxed);
    const std::uint64_t out = entry.owner.inbox_out.load(std::memory_order_relaxed);
    const bool slot_taken = entry.owner.lifo.load(std::memory_order_relaxed) != nullptr;
    const auto in_ring = static_cast<std::int32_t>(tail - static_cast<std::uint32_t>(head));
    const auto in_inbox = static_cast<std::int64_t>(in - out);
    const auto forked =
        static_cast<std::int64_t>(entry.owner.fork_bottom.load(std::memory_order_relaxed) - top);
    return {static_cast<std::uint32_t>(std::clamp<std::int64_t>(in_ring, 0, ring_capacity_) +
                                       std::clamp<std::int64_t>(in_inbox, 0, inbox_capacity_) +
                                       std::clamp<std::int64_t>(forked, 0, forks_shown)),
            slot_taken ? 1U : 0U, entry.owner.running.load(std::memory_order_relaxed)};
  }

  /// Activity of the worker at `index` in group g; never below 0. Cost: two cache lines. Exact at rest.
  worker_activity activity(group_id g, std::size_t index) const noexcept {
    return activity(board(g).entries[index]);
  }
  worker_activity activity(const board_entry& entry) const noexcept {
    const std::uint64_t cooled = entry.shared.cooled.load(std::memory_order_acquire); // pairs: board
    const std::uint64_t touches = entry.owner.touches.load(std::memory_order_relaxed);
    return {touches - std::min(cooled, touches), entry.owner.touched_at.load(std::memory_order_relaxed)};
  }

  /// The average time of a task near the origin, from which the spill costs are scaled.
  std::uint64_t task_time_ns = 50'000;
  /// The least level of each group, at the index of its id. Null: not kept, so the policy looks at each group
  /// itself.
  const load_levels* group_levels = nullptr;

 private:
  static constexpr std::int64_t forks_shown = std::int64_t{1} << 30;

  std::span<const std::unique_ptr<group_board>> boards_;
  const worker_layout* layout_;
  std::uint32_t ring_capacity_;
  std::uint32_t inbox_capacity_;
};

/// Publishes the level of load of the worker at `index` in group g, and of its group's lightest, if that has
/// changed. `of_groups` may be null. Any thread; of two at once the one may miss what the other publishes, so
/// workers call `publish_least` once a tick and before they sleep. Cost: a load and a compare where nothing
/// changes, else two cache lines.
[[gnu::hot]] void publish_level(group_board& board, std::size_t index, std::uint8_t level,
                                load_levels* of_groups, group_id g) noexcept;
/// Publishes the least level of a group. Any thread. Cost: two cache lines.
void publish_least(const group_board& board, load_levels& of_groups, group_id g) noexcept;

} // namespace corewise
