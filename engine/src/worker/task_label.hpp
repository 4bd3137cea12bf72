#pragma once

#include <corewise/engine/detail/bound_values.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/hint.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace corewise::detail {

/// The key of labels in chains of bound values.
extern const char label_key;

/// The value that a task with a name or an id has bound from its beginning on.
struct task_label : bound_value {
  static constexpr std::size_t longest_name = 120; // in dumps and traces

  const char* name = nullptr;
  trace_id id;
  const char* kind =
      nullptr; ///< of the closure that it runs, as `task_action::identify` says; null: a coroutine
  const void* frame = nullptr; ///< of that coroutine
};

/// Returns what such tasks answer to `task_action::identify`. Coroutines answer `coroutine_kind`.
const char* kind_of(bool (*act)(task_header*, task_action)) noexcept;

/// Makes a coroutine that runs `t`, a closure or a coroutine, with the label of the hint, for an engine.
/// Takes `t`. Cost: two recycled blocks. Throws `std::bad_alloc`, and then `t` is still the caller's.
unbegun_task with_label(unbegun_task& t, const hint& wish, runtime& engine);
/// Returns the closure or coroutine of which `with_label` made such a task for that engine. Both are unbegun.
unbegun_task without_label(unbegun_task labelled, runtime& engine) noexcept;

/// Returns what people read of a task: `KIND (NAME, ID)`, or less where it has less.
std::string task_text(std::string_view kind, std::string_view name, trace_id id);

} // namespace corewise::detail
