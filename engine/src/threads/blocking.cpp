#include "worker/shared.hpp"

namespace corewise::detail {

blocking_region::blocking_region() noexcept {
  worker* const seat = this_execution.seat;
  if (seat == nullptr || seat->engine().after_process_fork()) return;
  seat_ = seat;
  lending_ = seat->lend();
}

blocking_region::~blocking_region() {
  if (seat_ != nullptr) seat_->regain(lending_);
}

} // namespace corewise::detail
