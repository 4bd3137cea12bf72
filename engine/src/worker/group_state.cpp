#include "worker/group_state.hpp"

#include <memory>

namespace corewise::detail {

namespace {

std::size_t bytes_for(std::size_t workers, group_state::sizes capacity) {
  const std::size_t each = sizeof(board_entry) + sizeof(worker) + alignof(worker) +
                           capacity.ring * sizeof(local_queue::cell) + capacity.inbox * sizeof(inbox::cell);
  return workers * each + sizeof(timer_group) + alignof(timer_group);
}

template <class T> std::span<T> make_cells(node_arena& arena, std::size_t count) {
  T* cells = arena.take<T>(count);
  std::uninitialized_value_construct_n(cells, count);
  return {cells, count};
}

} // namespace

group_state::group_state(std::span<const worker_place> workers, sizes capacity,
                         std::optional<std::uint32_t> node, refusal* why)
    : capacity_(capacity),
      arena_(bytes_for(workers.size(), capacity), node, why),
      entries_(arena_.take<board_entry>(workers.size())),
      seats_(arena_.take<worker>(workers.size())),
      timers_(std::construct_at(arena_.take<timer_group>(1))) {
  std::uninitialized_value_construct_n(entries_, workers.size());
}

group_state::~group_state() {
  std::destroy_n(seats_, made_);
  std::destroy_at(timers_);
}

void group_state::make_seats(shared& engine, std::span<const worker_place> workers) {
  for (const worker_place& place : workers) {
    const queue_memory memory{entries_[made_], make_cells<local_queue::cell>(arena_, capacity_.ring),
                              make_cells<inbox::cell>(arena_, capacity_.inbox)};
    ::new (static_cast<void*>(&seats_[made_])) worker(engine, place.id, memory);
    ++made_;
  }
}

} // namespace corewise::detail
