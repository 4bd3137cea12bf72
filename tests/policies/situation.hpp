#pragma once

#include <corewise/policies/origin.hpp>
#include <corewise/policies/reference.hpp>
#include <corewise/policies/still_boards.hpp>
#include <corewise/topology/groups.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace corewise::tests {

/// A machine with its workers and boards, and a policy to ask about them.
class situation {
 public:
  /// Draws how fast each group is now, in percent; nothing: all at full speed.
  using speeds_by_group = std::function<std::vector<std::uint32_t>(std::size_t groups)>;

  explicit situation(topology machine, const dispatch_weights& weights = {},
                     const worker_options& workers = {}, const grouping_options& grouping = {},
                     std::string_view policy_name = "nearest_lightest",
                     const speeds_by_group& speeds = nullptr)
      : weights_(weights),
        machine_(std::move(machine)),
        groups_(at_speeds(locality_groups(machine_, grouping), speeds)),
        workers_(machine_, groups_, workers),
        boards_(groups_, workers_),
        policy_(make_policy(policy_name, groups_, workers_, weights)) {}
  /// A situation with a policy other than `nearest_lightest`.
  situation(topology machine, const char* policy_name)
      : situation(std::move(machine), {}, {}, {}, policy_name) {}
  situation(situation&&) = delete;

  const locality_groups& groups() const noexcept { return groups_; }
  const worker_layout& workers() const noexcept { return workers_; }
  const policy& rule() const noexcept { return *policy_; }
  still_boards& boards() noexcept { return boards_; }

  /// Gives workers `first` to `last` a load each.
  void load(std::uint32_t first, std::uint32_t last, std::uint32_t n) {
    for (std::uint32_t w = first; w <= last; ++w) boards_.set_load({w}, n);
  }

  task_origin on_cpu(std::uint32_t cpu) const { return origin_from_cpu(groups_, cpu).value(); }
  task_origin on_worker(std::uint32_t worker) const { return origin_from_worker(workers_, {worker}); }

  load_view view() const noexcept { return boards_.view(task_time_ns); }

  /// Asks the situation's policy, which remembers nothing.
  placement place(const task_origin& origin, const placement_hint& hint = {}) const {
    placement_rng rng(1);
    placement_cursor cursor;
    return policy_->place(view(), origin, hint, rng, cursor);
  }
  /// Asks it as one submitting thread that goes on.
  placement place_next(const task_origin& origin, const placement_hint& hint = {}) {
    return policy_->place(view(), origin, hint, rng_, cursor_);
  }
  placement by_trying_all(const task_origin& origin, const placement_hint& hint = {}) const {
    return place_by_trying_all(groups_, boards_.view(task_time_ns), weights_, origin, hint);
  }
  std::vector<considered> considering(const task_origin& origin, const placement_hint& hint = {}) const {
    return consider_groups(groups_, boards_.view(task_time_ns), weights_, origin, hint);
  }

  std::uint64_t task_time_ns = 50'000;

 private:
  static locality_groups at_speeds(const locality_groups& full, const speeds_by_group& draw) {
    const std::vector<std::uint32_t> speeds = draw ? draw(full.size()) : std::vector<std::uint32_t>();
    return speeds.empty() ? full : full.at_speeds(speeds);
  }

  dispatch_weights weights_;
  topology machine_;
  locality_groups groups_;
  worker_layout workers_;
  still_boards boards_;
  std::unique_ptr<policy> policy_;
  placement_rng rng_{1};
  placement_cursor cursor_;
};

} // namespace corewise::tests
