#include "runtime/runtime.hpp"

#include <corewise/engine/detail/suspension.hpp>

namespace corewise::detail {

void suspension::fetch_entries() noexcept {
  if (runtime* const engine = this_execution.engine; engine != nullptr && !engine->after_process_fork())
    engine->suspended().take(this_execution);
}

void suspension::return_entries() noexcept {
  if (runtime* const engine = this_execution.engine; engine != nullptr && !engine->after_process_fork())
    engine->suspended().give_half(this_execution);
}

void suspension::free_entry_locked() noexcept { suspended_table::forget(*this); }

} // namespace corewise::detail
