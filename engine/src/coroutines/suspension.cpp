#include "runtime/runtime.hpp"

#include <corewise/engine/detail/suspension.hpp>

namespace corewise::detail {

void suspension::find_slots() noexcept { this_execution.engine->suspended().take(this_execution); }

void suspension::give_slots() noexcept { this_execution.engine->suspended().give_half(this_execution); }

void suspension::leave_slot_locked() noexcept { suspended_table::forget(*this); }

} // namespace corewise::detail
