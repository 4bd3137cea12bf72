#include "lightest.hpp"

#include "answer.hpp"

// lightest: of all workers the one with the fewest tasks queued.
//
// A linear sweep over all workers that are not in a blocking call: strictly smaller wins, so ties go to the
// lowest index. It reads *queued*, ring and inbox, and neither the LIFO slot nor the running task, because
// the counters of the systems that it reproduces count that: ZIO with a global least-loaded scan, and Nio.
//
// Cost: two cache lines a worker, up to the first one with nothing queued, which no other worker can
// undercut.

namespace corewise {
namespace {

class lightest final : public policy {
 public:
  explicit lightest(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return lightest_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& /*rng*/, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    detail::candidate best;
    std::uint32_t fewest = 0;
    bool found = false;
    among.each([&](const detail::candidate& c) {
      const std::uint32_t queued = queued_of(loads, c);
      if (!found || queued < fewest) {
        best = c;
        fewest = queued;
        found = true;
      }
      return fewest != 0;
    });
    return detail::answer(groups_, origin, best, fewest,
                          among.hinted() ? placement_reason::hinted : placement_reason::fewest_queued);
  }

  std::string_view score_unit() const noexcept override { return "tasks queued"; }

  std::vector<considered> consider(const load_view& loads, const task_origin& /*origin*/,
                                   const placement_hint& hint, placement_rng /*rng*/,
                                   placement_cursor /*cursor*/) const override {
    std::vector<considered> all;
    const auto key = [&](const detail::candidate& c) { return queued_of(loads, c); };
    for (const auto& [c, queued] : detail::best_of_groups({groups_, loads, hint}, key))
      all.push_back({c.group, c.worker, static_cast<double>(queued), 0});
    return all;
  }

 private:
  static std::uint32_t queued_of(const load_view& loads, const detail::candidate& c) noexcept {
    return loads.load(c.group, c.index).queued;
  }

  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_lightest(const locality_groups& groups, const worker_layout& /*workers*/,
                                      const dispatch_weights& /*weights*/) {
  return std::make_unique<lightest>(groups);
}

} // namespace corewise
