#include "random.hpp"

#include "answer.hpp"

// random: one of the available workers, each as likely.
//
// Every rule that looks at loads is measured against this one: its maximum load is O(log n / log log n).
//
// Cost: a random number and a bit.

namespace corewise {
namespace {

class random final : public policy {
 public:
  explicit random(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return random_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    const detail::candidate drawn = among.draw(rng);
    return detail::answer(groups_, origin, drawn, 0,
                          among.hinted() ? placement_reason::hinted : placement_reason::drawn);
  }

 private:
  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_random(const locality_groups& groups, const worker_layout& /*workers*/,
                                    const dispatch_weights& /*weights*/) {
  return std::make_unique<random>(groups);
}

} // namespace corewise
