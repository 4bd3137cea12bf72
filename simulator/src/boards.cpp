#include "boards.hpp"

namespace corewise::detail {

simulated_boards::simulated_boards(const locality_groups& groups, const worker_layout& workers,
                                   std::uint32_t ring_capacity, std::uint32_t inbox_capacity)
    : layout_(workers),
      entries_(std::make_unique<board_entry[]>(workers.size())),
      group_level_bytes_(load_levels::bytes_for(groups.size())),
      group_levels_(group_level_bytes_.data(), groups.size()),
      several_groups_(groups.size() > 1),
      boards_([&] {
        std::vector<std::unique_ptr<group_board>> boards;
        for (const locality_group& g : groups.groups()) {
          const auto members = workers.of_group(g.id);
          board_entry* const first = members.empty() ? nullptr : &entries_[members.front().id.value];
          boards.push_back(std::make_unique<group_board>(members.size(), first));
        }
        return boards;
      }()),
      view_(boards_, workers, ring_capacity, inbox_capacity) {
  for (const locality_group& g : groups.groups())
    for (const worker_place& w : workers.of_group(g.id))
      indexes_.push_back(w.id.value - workers.of_group(g.id).front().id.value);
  if (several_groups_) view_.group_levels = &group_levels_;
}

void simulated_boards::show(worker_id w, std::uint32_t ring, std::uint32_t inbox, std::uint32_t forks,
                            bool slot_taken, bool running) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  board_entry& s = entries_[w.value];
  s.owner.ring_tail.store(ring, relaxed);
  s.producers.inbox_in.store(inbox, relaxed);
  s.owner.fork_bottom.store(forks, relaxed);
  s.owner.lifo.store(slot_taken ? &s : nullptr, relaxed); // anything but null
  s.owner.running.store(running ? 1 : 0, relaxed);
  const group_id g = layout_[w].group;
  publish_level(*boards_[g.value], indexes_[w.value], load_level(view_.load(s).total()),
                several_groups_ ? &group_levels_ : nullptr, g);
}

} // namespace corewise::detail
