#include "hottest_half.hpp"

#include "steal_round.hpp"

#include <algorithm>
#include <array>
#include <compare>

// hottest_half: the most active worker first: thieves rob the tail of the order at whose head `activity`
// places.
//
// Of equally active workers the one that was touched last comes first, then the highest index: exactly the
// reverse of the order in which tasks are placed. A thief cools the worker that it has robbed (activity.hpp),
// so that the next thief tries another. Distance does not matter; the injection queues of other groups come
// after the workers.
//
// One sweep picks the hottest few; only when all of them refuse does another sweep pick the next few. Sorting
// all workers instead would take memory for all of them on each theft.
//
// Source: the worker activity tracker of the retrospective on bringing Nio to ZIO, whose list gave the tail
// at once and cost a lock on each touch.
//
// Cost: two cache lines for each worker, and as much again for each 16 that refuse.

namespace corewise {
namespace {

/// A worker's place in the order of activity.
struct warmth {
  std::uint64_t touches = 0;
  std::uint64_t touched_at = 0;
  worker_id worker;

  auto operator<=>(const warmth&) const noexcept = default;
};

/// Keeps the hottest of the workers that it is shown, as many as there is room for, hottest first.
class hottest_few {
 public:
  void show(const warmth& w) noexcept {
    if (count_ == few_.size() && w <= few_.back()) return;
    if (count_ < few_.size()) ++count_;
    std::size_t i = count_ - 1;
    for (; i > 0 && few_[i - 1] < w; --i) few_[i] = few_[i - 1];
    few_[i] = w;
  }

  bool full() const noexcept { return count_ == few_.size(); }
  std::span<const warmth> all() const noexcept { return {few_.data(), count_}; }

 private:
  std::array<warmth, 16> few_{};
  std::size_t count_ = 0;
};

class hottest_half final : public steal_policy {
 public:
  explicit hottest_half(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return hottest_half_name; }

  bool visit(const load_view& loads, worker_id thief, placement_rng& /*rng*/, steal_effort /*effort*/,
             function_ref<bool(const steal_stop&)> try_steal) const noexcept override {
    const detail::steal_round round(groups_, loads, thief, try_steal);
    std::optional<warmth> tried; // all workers as hot as this one or hotter
    for (;;) {
      const hottest_few few = hottest_below(tried, round, loads);
      for (const warmth& w : few.all()) {
        const group_id g = loads.layout()[w.worker].group;
        if (round.at_worker(g, w.worker.value - loads.layout().of_group(g).front().id.value)) return true;
      }
      if (!few.full()) return round.at_injections();
      tried = few.all().back();
    }
  }

 private:
  hottest_few hottest_below(const std::optional<warmth>& tried, const detail::steal_round& round,
                            const load_view& loads) const noexcept {
    hottest_few few;
    for (const locality_group& group : groups_.groups()) {
      const std::span<const worker_place> members = loads.layout().of_group(group.id);
      for (std::size_t index = 0; index < members.size(); ++index) {
        if (round.waiting(group.id, index) == 0) continue;
        const worker_activity a = loads.activity(group.id, index);
        const warmth w{a.touches, a.touched_at, members[index].id};
        if (!tried || w < *tried) few.show(w);
      }
    }
    return few;
  }

  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<steal_policy> make_hottest_half(const locality_groups& groups,
                                                const worker_layout& /*workers*/, steal_start /*start*/) {
  return std::make_unique<hottest_half>(groups);
}

} // namespace corewise
