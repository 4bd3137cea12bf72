#include "spinners.hpp"

#include <algorithm>

namespace corewise::detail {

void spinners::spins_on(worker_id w) {
  if (std::exchange(workers_[w.value].listed, true)) return;
  of_domain_[setup_.domain_of(w)].push_back(w.value);
  ++listed_;
}

bool spinners::offer_listed(std::uint32_t domain, group_id first) {
  std::vector<std::uint32_t>& listed = of_domain_[domain];
  std::erase_if(listed, [&](std::uint32_t w) {
    workers_[w].listed = at_rest(worker_id{w});
    if (!workers_[w].listed) --listed_;
    return !workers_[w].listed;
  });
  if (listed.empty()) return false;
  auto chosen =
      std::ranges::find(listed, first, [&](std::uint32_t w) { return setup_.group_of(worker_id{w}); });
  if (chosen == listed.end()) chosen = listed.begin();
  plan_look(worker_id{*chosen});
  return true;
}

} // namespace corewise::detail
