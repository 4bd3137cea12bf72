#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/task_header.hpp>

namespace corewise::detail {

/// Returns the root of a coroutine; null: the task is none, or belongs to no root.
inline const coroutine_root* root_of(const task_header& t) noexcept {
  if (t.act == &resumption::perform || t.act == &resumption::perform_foreign)
    return static_cast<const resumption&>(t).root;
  return t.act == &coroutine_root::perform ? static_cast<const coroutine_root*>(&t) : nullptr;
}

/// Returns what stands for a task in events, from its queueing to its end: for a resumption its root.
inline const void* identity_of(const task_header& t) noexcept {
  const coroutine_root* const root = root_of(t);
  return root != nullptr ? static_cast<const void*>(root) : &t;
}

} // namespace corewise::detail
