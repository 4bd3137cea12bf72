#include "local_first.hpp"

#include "answer.hpp"
#include "injection.hpp"

#include <limits>

// local_first: a worker keeps what it submits; a task from outside goes to the injection queue.
//
// The policy looks at no load: a worker with nothing to do comes for work, as a thief or to the injection
// queue. A task from outside goes to the injection queue of the home group (or of the engine,
// `injection.scope`); where no worker of that group is available, to that of the nearest group with an
// available worker. The worker that the answer names is the one to wake: a parked one, else any.
//
// A hint that counts is stronger: any worker might take the task from the queue, so the policy draws one of
// the workers that the hint allows, and that worker gets the task itself. A worker in a blocking call that
// keeps its seat sends to the injection queue of its group.
//
// Source: Tokio, Volt; ZIO's submit from outside.
//
// Cost: from a worker a bit; from outside two words of bits.

namespace corewise {
namespace {

class local_first final : public policy {
 public:
  explicit local_first(const locality_groups& groups) noexcept : groups_(groups) {}

  std::string_view name() const noexcept override { return local_first_name; }

  placement place(const load_view& loads, const task_origin& origin, const placement_hint& hint,
                  placement_rng& rng, placement_cursor& /*cursor*/) const noexcept override {
    detail::candidates among(groups_, loads, hint);
    const bool local = origin.worker && among.include(*origin.worker);
    if (among.hinted()) {
      const detail::candidate chosen = local ? among.at(*origin.worker) : among.draw(rng);
      return detail::answer(groups_, origin, chosen, 0, placement_reason::hinted);
    }
    if (local)
      return detail::answer(groups_, origin, among.at(*origin.worker), 0, placement_reason::kept_local);
    return detail::injection(groups_, loads, origin, rng);
  }

  std::optional<std::uint32_t> max_load_kept_unasked(const load_view&,
                                                     const task_origin&) const noexcept override {
    return std::numeric_limits<std::uint32_t>::max();
  }

 private:
  const locality_groups& groups_;
};

} // namespace

std::unique_ptr<policy> make_local_first(const locality_groups& groups, const worker_layout& /*workers*/,
                                         const dispatch_weights& /*weights*/) {
  return std::make_unique<local_first>(groups);
}

} // namespace corewise
