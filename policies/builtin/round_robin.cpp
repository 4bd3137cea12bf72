#include "round_robin.hpp"

#include "answer.hpp"

// round_robin: the available workers in turn.
//
// Each submitting thread has its own cursor, so there is nothing to share, and the rotation is exact for each
// thread. Tasks whose hint counts rotate among the workers that the hint allows, by a count of their own.
//
// Source: the rotating allocator of the C reference, less its look at the queues; Go's and Java's pools.
//
// Cost: a bit for each worker that it passes over.

namespace corewise {
namespace {

class round_robin final : public policy {
 public:
  explicit round_robin(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return round_robin_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& /*rng*/, placement_cursor& cursor) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    const detail::candidate next = among.next_in_turn(cursor);
    return detail::answer(groups_, origin, next, 0,
                          among.hinted() ? placement_reason::hinted : placement_reason::next_in_turn);
  }

 private:
  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_round_robin(const locality_groups& groups, const worker_layout& /*workers*/,
                                         const dispatch_weights& /*weights*/) {
  return std::make_unique<round_robin>(groups);
}

} // namespace corewise
