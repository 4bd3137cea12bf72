#include "two_choices.hpp"

#include "answer.hpp"

// two_choices: of two workers drawn at random, the one with less to do.
//
// The two are distinct. The policy compares the queued tasks and the LIFO slot; ties go to the first drawn.
// It draws again for a worker in a blocking call, so the pair is uniform over the available workers; when
// there is only one, it is that one. The same holds from outside and from a worker, as upstream.
//
// Source: ZIO 2's scheduler; Mitzenmacher, "The power of two choices in randomized load balancing",
// doi:10.1109/71.963420: the maximum load is O(log log n), against O(log n / log log n) at random.
//
// Cost: two random numbers and four cache lines, however many workers there are.

namespace corewise {
namespace {

class two_choices final : public policy {
 public:
  explicit two_choices(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return two_choices_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    const auto [first, second] = among.draw_two(rng);
    const std::uint32_t of_first = waiting_at(loads, first);
    const std::uint32_t of_second = waiting_at(loads, second);
    return detail::answer(groups_, origin, of_second < of_first ? second : first,
                          std::min(of_first, of_second),
                          among.hinted() ? placement_reason::hinted : placement_reason::lighter_of_two);
  }

  std::string_view score_unit() const noexcept override { return "tasks queued or in the LIFO slot"; }

  std::vector<considered> consider(const load_view& loads, const task_origin& /*origin*/,
                                   const placement_hint& hint, placement_rng rng,
                                   placement_cursor /*cursor*/) const override {
    const auto [first, second] = detail::candidates(groups_, loads, hint).draw_two(rng);
    std::vector<considered> both;
    for (const detail::candidate& c : {first, second})
      if (both.empty() || both.front().lightest != c.worker)
        both.push_back({c.group, c.worker, static_cast<double>(waiting_at(loads, c)), 0});
    return both;
  }

 private:
  static std::uint32_t waiting_at(const load_view& loads, const detail::candidate& c) noexcept {
    const worker_load load = loads.load(c.group, c.index);
    return load.queued + load.slot;
  }

  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_two_choices(const locality_groups& groups, const worker_layout& /*workers*/,
                                         const dispatch_weights& /*weights*/) {
  return std::make_unique<two_choices>(groups);
}

} // namespace corewise
