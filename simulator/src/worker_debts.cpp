#include "worker_debts.hpp"

namespace corewise::detail {

void worker_debts::fetch(std::uint32_t& last_user, double lines) noexcept {
  const std::uint32_t last = std::exchange(last_user, acting_);
  if (acting_ == nowhere || last == acting_) return;
  const level from = last == nowhere ? level::same_domain
                                     : setup_.groups.level_between(setup_.group_of(worker_id{last}),
                                                                   setup_.group_of(worker_id{acting_}));
  owed_ns_[acting_] += lines * setup_.costs.transfer[static_cast<std::size_t>(from)];
}

} // namespace corewise::detail
