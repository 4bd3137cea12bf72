#include "activity.hpp"

#include "answer.hpp"

#include <compare>

// activity: the worker that has been least active of late.
//
// Workers stand in an order of activity, head idle, tail hot: tasks go to the head, thieves rob the tail
// (`hottest_half`). A worker moves towards the tail when it takes work. A thief cools the worker that it has
// robbed, that is, it halves the victim's activity (the frequency part). Of equally active workers the one
// that was touched longer ago comes first (the age part), then the lowest index. The original keeps a list
// and pays for a lock on each touch; here the order is a scan over words that their owners write
// (activity.hpp).
//
// Source: the worker activity tracker of the retrospective on bringing Nio to ZIO.
//
// Cost: two cache lines a worker, up to the first one that was never active.

namespace corewise {
namespace {

class activity final : public policy {
 public:
  explicit activity(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return activity_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& /*rng*/, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    detail::candidate best;
    rank least;
    bool found = false;
    among.each([&](const detail::candidate& c) {
      const rank r = rank_of(loads, c);
      if (!found || r < least) {
        best = c;
        least = r;
        found = true;
      }
      return least != rank{};
    });
    return detail::answer(groups_, origin, best, static_cast<double>(least.touches),
                          among.hinted() ? placement_reason::hinted : placement_reason::least_active);
  }

  std::string_view score_unit() const noexcept override { return "touches not cooled yet"; }

  std::vector<considered> consider(const load_view& loads, const task_origin& /*origin*/,
                                   const placement_hint& hint, placement_rng /*rng*/,
                                   placement_cursor /*cursor*/) const override {
    std::vector<considered> all;
    const auto key = [&](const detail::candidate& c) { return rank_of(loads, c); };
    for (const auto& [c, r] : detail::best_of_groups({groups_, loads, hint}, key))
      all.push_back({c.group, c.worker, static_cast<double>(r.touches), 0});
    return all;
  }

 private:
  struct rank {
    std::uint64_t touches = 0;
    std::uint64_t touched_at = 0;

    auto operator<=>(const rank&) const noexcept = default;
  };

  static rank rank_of(const load_view& loads, const detail::candidate& c) noexcept {
    const worker_activity a = loads.activity(c.group, c.index);
    return {a.touches, a.touched_at};
  }

  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_activity(const locality_groups& groups, const worker_layout& /*workers*/,
                                      const dispatch_weights& /*weights*/) {
  return std::make_unique<activity>(groups);
}

} // namespace corewise
