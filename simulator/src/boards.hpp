#pragma once

#include <corewise/policies/activity.hpp>
#include <corewise/policies/load_view.hpp>

#include <memory>
#include <vector>

namespace corewise::detail {

/// The load boards of simulated workers: the words that the policies read in an engine.
class simulated_boards {
 public:
  /// Makes the boards; all arguments must outlive them.
  simulated_boards(const locality_groups& groups, const worker_layout& workers, std::uint32_t ring_capacity,
                   std::uint32_t inbox_capacity);

  group_board& of(group_id g) noexcept { return *boards_[g.value]; }
  board_entry& entry(worker_id w) noexcept { return entries_[w.value]; }
  std::uint32_t index_in_group(worker_id w) const noexcept { return indexes_[w.value]; }
  group_board& of_worker(worker_id w) noexcept { return *boards_[layout_[w].group.value]; }

  /// Sets what waits for the worker, and whether it runs something; publishes its level.
  void show(worker_id w, std::uint32_t ring, std::uint32_t inbox, std::uint32_t forks, bool slot_taken,
            bool running) noexcept;

  const load_view& view() const noexcept { return view_; }

 private:
  const worker_layout& layout_;
  std::unique_ptr<board_entry[]> entries_; // by worker id
  std::vector<std::uint32_t> indexes_;     // by worker id
  std::vector<unsigned char> group_level_bytes_;
  load_levels group_levels_;
  bool several_groups_;
  std::vector<std::unique_ptr<group_board>> boards_;
  load_view view_;
};

} // namespace corewise::detail
