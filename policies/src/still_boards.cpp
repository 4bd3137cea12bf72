#include <corewise/policies/still_boards.hpp>

#include <limits>

namespace corewise {
namespace {

// Enough for any load that `explain` is asked about; the ring's positions are compared as 32-bit numbers.
constexpr std::uint32_t ring_capacity = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t inbox_capacity = 0;

void put(worker_bits& bits, std::size_t index, bool member) noexcept {
  if (member)
    bits.set(index);
  else
    (void)bits.claim(index);
}

} // namespace

still_boards::still_boards(const locality_groups& groups, const worker_layout& workers)
    : workers_(&workers),
      entries_(std::make_unique<board_entry[]>(workers.size())),
      group_level_bytes_(load_levels::bytes_for(groups.size())),
      group_levels_(group_level_bytes_.data(), groups.size()) {
  boards_.reserve(groups.size());
  for (const locality_group& g : groups.groups()) {
    const auto members = workers.of_group(g.id);
    board_entry* const first = members.empty() ? nullptr : &entries_[members.front().id.value];
    boards_.push_back(std::make_unique<group_board>(members.size(), first));
    for (const worker_place& w : members) set_load(w.id, 0);
  }
}

void still_boards::set_load(worker_id worker, std::uint32_t load) noexcept {
  set_load(worker, worker_load{load > 0 ? load - 1 : 0, 0, load > 0 ? 1U : 0U});
}

void still_boards::set_load(worker_id worker, const worker_load& load) noexcept {
  board_entry& entry = entries_[worker.value];
  entry.owner.running.store(load.running > 0 ? 1 : 0, std::memory_order_relaxed);
  entry.owner.lifo.store(load.slot > 0 ? &entry : nullptr, std::memory_order_relaxed); // anything but null
  entry.owner.ring_tail.store(std::min(load.queued, ring_capacity), std::memory_order_relaxed);
  set_level(worker, load_level(load.total()));
  const bool idle = load.queued == 0 && load.slot == 0 && load.running == 0;
  put(board_of(worker).parked, place_of(worker), idle);
  put(board_of(worker).spinning, place_of(worker), false);
}

void still_boards::set_activity(worker_id worker, const worker_activity& activity) noexcept {
  board_entry& entry = entries_[worker.value];
  entry.shared.cooled.store(0, std::memory_order_relaxed);
  entry.owner.touches.store(activity.touches, std::memory_order_relaxed);
  entry.owner.touched_at.store(activity.touched_at, std::memory_order_relaxed);
}

void still_boards::set_waiting_asleep(worker_id worker, std::uint32_t tasks) noexcept {
  set_load(worker, 0);
  entries_[worker.value].owner.ring_tail.store(std::min(tasks, ring_capacity), std::memory_order_relaxed);
  set_level(worker, load_level(tasks));
}

void still_boards::set_spinning(worker_id worker) noexcept {
  set_between_tasks(worker);
  put(board_of(worker).spinning, place_of(worker), true);
}

void still_boards::set_between_tasks(worker_id worker) noexcept {
  set_load(worker, 0);
  put(board_of(worker).parked, place_of(worker), false);
}

void still_boards::set_level(worker_id worker, std::uint8_t level) noexcept {
  const group_id g = (*workers_)[worker].group;
  publish_level(*boards_[g.value], place_of(worker), level, &group_levels_, g);
}

void still_boards::set_unavailable(worker_id worker, bool unavailable) noexcept {
  put(board_of(worker).unavailable, place_of(worker), unavailable);
}

load_view still_boards::view(std::uint64_t task_time_ns) const noexcept {
  load_view shown(boards_, *workers_, ring_capacity, inbox_capacity);
  shown.task_time_ns = task_time_ns;
  shown.group_levels = &group_levels_;
  return shown;
}

std::size_t still_boards::place_of(worker_id worker) const noexcept {
  return worker.value - workers_->of_group((*workers_)[worker].group).front().id.value;
}

group_board& still_boards::board_of(worker_id worker) noexcept {
  return *boards_[(*workers_)[worker].group.value];
}

} // namespace corewise
