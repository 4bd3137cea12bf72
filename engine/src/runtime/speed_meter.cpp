#include "runtime/speed_meter.hpp"

#include "base/clock.hpp"
#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <algorithm>

namespace corewise::detail {

void speed_meter::look(shared& engine, std::span<const std::uint32_t> allowed) {
  constexpr std::size_t most_kinds = 4 * like_tasks::most_kinds; // of all workers
  std::vector<log_times> sums;                                   // by kind and group
  const std::size_t groups = engine.groups().size();
  for (const worker_place& place : engine.layout().workers()) {
    const like_tasks* const noted = engine.seat(place.id).counts().alike.get();
    if (noted == nullptr) continue;
    noted->visit([&](std::uintptr_t kind, const log_times& of) {
      if (numbers_.size() == most_kinds && !numbers_.contains(kind)) return;
      const std::size_t number = numbers_.try_emplace(kind, numbers_.size()).first->second;
      if (sums.size() < numbers_.size() * groups) sums.resize(numbers_.size() * groups);
      log_times& sum = sums[number * groups + place.group.value];
      sum.count += of.count;
      sum.sum += of.sum;
      sum.squares += of.squares;
    });
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    speeds_.take(i / groups, group_id{static_cast<std::uint32_t>(i % groups)}, sums[i]);
  speeds_.learn(allowed, monotonic::now().time_since_epoch());
}

std::vector<std::uint32_t> speed_meter::of(std::span<const std::uint32_t> allowed) const {
  const std::span<const std::uint32_t> part = speeds_.percent();
  if (allowed.empty()) return {part.begin(), part.end()};
  std::vector<std::uint32_t> all(allowed.begin(), allowed.end());
  for (std::size_t g = 0; g < all.size(); ++g) all[g] = std::max<std::uint32_t>(1, all[g] * part[g] / 100);
  return all;
}

} // namespace corewise::detail
