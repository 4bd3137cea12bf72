#include "listener_groups.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace corewise::io::detail {

namespace {

/// For how long the workers of a group are watched, to tell which group is less busy.
constexpr std::chrono::nanoseconds between_looks = std::chrono::seconds{1};

} // namespace

listener_groups::listener_groups(service& io) : engine_(io.on()) {
  for (const locality_group& g : engine_.groups().groups())
    if (!engine_.workers().of_group(g.id).empty())
      groups_.push_back(std::make_unique<listener_group>(g.id, io.of(g.id)));
  const auto begins = [this](const auto& g) { return engine_.workers().at_begin(g->id) != 0; };
  const auto others = std::stable_partition(groups_.begin(), groups_.end(), begins);
  with_socket_ = static_cast<std::size_t>(others - groups_.begin());
}

listener_group& listener_groups::lightest(listener_group& own) noexcept {
  look_at_workers();
  listener_group* best = &own;
  load least = load_of(own);
  for (const auto& g : groups_)
    if (const load now = load_of(*g); now < least) {
      best = g.get();
      least = now;
    }
  return *best;
}

listener_counts listener_groups::counts(std::optional<group_id> of) const noexcept {
  listener_counts sum;
  for (const auto& g : groups_) {
    if (of && g->id != *of) continue;
    sum.accepted += g->own.accepted.load(std::memory_order_relaxed);
    sum.open += g->own.open.load(std::memory_order_relaxed);
    sum.refused += g->own.refused.load(std::memory_order_relaxed);
  }
  return sum;
}

/// Returns the load that the group would have with one more connection.
listener_groups::load listener_groups::load_of(const listener_group& g) const noexcept {
  const std::uint64_t capacity = driving::capacity_now(driving::of(engine_), g.id);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (capacity == 0) return {most, most}; // all its workers have retired
  const std::uint64_t connections = g.own.open.load(std::memory_order_relaxed) + 1;
  const auto busy_ns = static_cast<std::uint64_t>(g.busy_lately_ns.load(std::memory_order_relaxed));
  return {connections * 1024 * 1024 / capacity, busy_ns / capacity};
}

/// Notes once a second for how long the workers of each group were busy.
void listener_groups::look_at_workers() noexcept {
  const std::int64_t now = coarse_now_ns();
  std::int64_t last = looked_at_ns_.load(std::memory_order_relaxed);
  if (now - last < between_looks.count() ||
      !looked_at_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed))
    return;
  for (const auto& g : groups_) {
    const std::int64_t busy = driving::busy(driving::of(engine_), g->id).count();
    const std::int64_t before = g->busy_ns.exchange(busy, std::memory_order_relaxed);
    g->busy_lately_ns.store(std::max<std::int64_t>(0, busy - before), std::memory_order_relaxed);
  }
}

} // namespace corewise::io::detail
