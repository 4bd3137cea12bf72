#include "worker.hpp"

#include <corewise/engine/engine.hpp>

namespace corewise::detail {

blocking_region::blocking_region() noexcept {
  worker* seat = this_execution.seat;
  if (seat != nullptr && !seat->blocked() && !seat->leave()) kept_ = seat;
}

blocking_region::~blocking_region() {
  if (kept_ != nullptr) kept_->return_to_work();
}

} // namespace corewise::detail
