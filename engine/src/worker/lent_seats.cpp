#include "worker/lent_seats.hpp"

namespace corewise::detail {

std::uint64_t tasks_waiting_for_a_seat(const shared& engine) noexcept {
  std::uint64_t waiting = 0;
  for (const std::vector<group_id>& domain : engine.groups().domains()) {
    bool domain_is_lent = true;
    for (const group_id g : domain) {
      bool group_is_lent = true;
      for (const worker_place& w : engine.layout().of_group(g).first(engine.active_in(g)))
        if (worker& seat = engine.seat(w.id); seat.lender().lending())
          waiting += seat.queues().waiting();
        else
          group_is_lent = false;
      const injection_queue& own = engine.group(g).injection();
      if (group_is_lent && &engine.injection(g) == &own) waiting += own.size();
      domain_is_lent = domain_is_lent && group_is_lent;
    }
    if (domain_is_lent) waiting += engine.classes(domain.front()).depth();
  }
  return waiting;
}

} // namespace corewise::detail
