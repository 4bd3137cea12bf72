#pragma once

#include <corewise/policies/load_view.hpp>

#include <memory>
#include <vector>

namespace corewise {

/// Load boards that stand still, as `explain`, the simulator and tests show them to a policy. At first every
/// worker is parked with load 0. One thread at a time.
class still_boards {
 public:
  /// `workers` must outlive this.
  still_boards(const locality_groups& groups, const worker_layout& workers);

  /// Sets a worker's load. Load n is one task running and n - 1 queued, and the worker is awake; with load 0
  /// it is parked.
  void set_load(worker_id worker, std::uint32_t load) noexcept;
  /// Sets the parts one by one, each as large as the view can show it; with a total of 0 the worker is
  /// parked.
  void set_load(worker_id worker, const worker_load& load) noexcept;
  /// Sets the worker's activity, with nothing cooled yet. Leaves its load as it is.
  void set_activity(worker_id worker, const worker_activity& activity) noexcept;
  /// Puts a worker to sleep although tasks wait for it: as if they were sent while another worker was
  /// searching its domain.
  void set_waiting_asleep(worker_id worker, std::uint32_t tasks) noexcept;
  /// Wakes a worker without work: load 0, and it looks for work.
  void set_spinning(worker_id worker) noexcept;
  /// Wakes a worker without work that does not look for any yet: load 0, and no mark.
  void set_between_tasks(worker_id worker) noexcept;
  /// Sets the worker's level, right or wrong (load_levels.hpp). Leaves its load as it is.
  void set_level(worker_id worker, std::uint8_t level) noexcept;
  /// Marks a worker as in a blocking call, or as back from it. Leaves its load as it is.
  void set_unavailable(worker_id worker, bool unavailable = true) noexcept;

  /// The view that a policy is shown. Invalid after this has been moved or destroyed; later changes show.
  load_view view(std::uint64_t task_time_ns = 50'000) const noexcept;

 private:
  std::size_t place_of(worker_id worker) const noexcept;
  group_board& board_of(worker_id worker) noexcept;

  const worker_layout* workers_;
  std::unique_ptr<board_entry[]> entries_; // by worker id
  std::vector<unsigned char> group_level_bytes_;
  load_levels group_levels_;
  std::vector<std::unique_ptr<group_board>> boards_;
};

} // namespace corewise
