#include "global_queue.hpp"

#include "answer.hpp"
#include "injection.hpp"

// global_queue: every task goes to the injection queue, also from a worker, and after each suspension.
//
// With `injection.scope: engine` that is one queue for all, from which the first free worker takes the oldest
// task: it is fair, never unbalanced, and a lock that all workers share. It is here to be measured against.
//
// A hint that counts is stronger: any worker might take the task from the queue, so the policy draws one of
// the workers that the hint allows, and that worker gets the task itself.
//
// Source: ZIO 1, whose executor was a thread pool with one queue.
//
// Cost: two words of bits.

namespace corewise {
namespace {

class global_queue final : public policy {
 public:
  explicit global_queue(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return global_queue_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    if (among.hinted()) return detail::answer(groups_, origin, among.draw(rng), 0, placement_reason::hinted);
    return detail::injection(groups_, loads, origin, rng);
  }

  bool returns() const noexcept override { return false; }

 private:
  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_global_queue(const locality_groups& groups, const worker_layout& /*workers*/,
                                          const dispatch_weights& /*weights*/) {
  return std::make_unique<global_queue>(groups);
}

} // namespace corewise
