#pragma once

#include <coroutine>
#include <cstdint>

namespace corewise {
class blocking_scope;
class runtime;
} // namespace corewise

namespace corewise::detail {

class worker;
struct coroutine_root;
struct suspension_entry;

/// The state of the calling thread in an engine, if it is in one.
struct execution {
  runtime* engine = nullptr; ///< the engine whose thread this is
  worker* seat = nullptr;    ///< the seat that the thread sits on; null after it gave it away
  coroutine_root* root =
      nullptr; ///< of the coroutine that runs as a task; null in closures and outside of tasks
  blocking_scope* within = nullptr; ///< the scope of the running call; null: none
  std::uint8_t phase = 0;           ///< the phase of the task that runs
  const char* kind = nullptr;       ///< the answer to `task_action::identify`: a mangled type, or a word
  bool root_ended = false;          ///< the coroutine that was resumed last has ended
  suspension_entry* free_entries =
      nullptr; ///< entries for coroutines that will be suspended (suspension.hpp)
  std::uint32_t free_entry_count = 0;
  /// At most so many transfers from here on nest (transfer.hpp); 0: they are not counted.
  std::uint64_t transfers_left = 0;
  std::coroutine_handle<> transferred; ///< goes on when the stack is unwound; null: none does
};

// Found by one addition also in shared libraries. The usual way there is a call, for which all functions that
// read it would save registers.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local execution this_execution{};

} // namespace corewise::detail
