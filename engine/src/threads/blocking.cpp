#include "runtime/runtime.hpp"

namespace corewise::detail {

blocking_region::blocking_region() noexcept {
  worker* const seat = this_execution.seat;
  if (seat == nullptr || this_execution.engine->forked()) return;
  seat_ = seat;
  lending_ = seat->lend();
}

blocking_region::~blocking_region() {
  if (seat_ != nullptr) seat_->regain(lending_);
}

} // namespace corewise::detail
