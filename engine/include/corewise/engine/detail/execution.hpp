#pragma once

#include <corewise/engine/detail/bound_values.hpp>

#include <coroutine>
#include <cstdint>

namespace corewise {
class runtime;
}

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
  /// In closures: the scope or loop of the running call, or the value that it has bound last.
  value_chain within;
  std::uint8_t phase = 0;         ///< the phase of the task that runs
  std::uint32_t until_sample = 1; ///< the thread samples the task that it queues as this one from here
  std::uint32_t draw = 0;         ///< the state of the generator that draws the next (sampling.cpp)
  const char* kind = nullptr;     ///< the answer to `task_action::identify`: a mangled type, or a word
  bool root_ended = false;        ///< the coroutine that was resumed last has ended
  suspension_entry* free_entries =
      nullptr; ///< entries for coroutines that will be suspended (suspension.hpp)
  std::uint32_t free_entry_count = 0;
  /// At most so many transfers from here on nest (transfer.hpp); 0: they are not counted.
  std::uint64_t transfers_left = 0;
  std::coroutine_handle<> transferred; ///< goes on when the stack is unwound; null: none does
};

// The name tells the layout: raise the number when `execution` changes. Modules with other layouts in one
// process then have words of their own.
inline namespace layout_3 {

// Found by one addition also in shared libraries. The usual way there is a call, for which all functions that
// read it would save registers. It is defined once, in the engine, for code that is compiled with hidden
// names as well.
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] extern constinit thread_local execution this_execution;

} // namespace layout_3

} // namespace corewise::detail
