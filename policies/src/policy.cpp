#include <corewise/policies/policy.hpp>

namespace corewise {

std::vector<considered> policy::consider(const load_view& loads, const task_origin& origin,
                                         const placement_hint& hint, placement_rng rng,
                                         placement_cursor cursor) const {
  const placement p = place(loads, origin, hint, rng, cursor);
  return {{p.group, p.worker, p.score, p.cost - p.score}};
}

} // namespace corewise
