#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/task_header.hpp>

namespace corewise::detail {

/// Returns the task as a coroutine that goes on; null: it is none, or one that begins or has yielded.
inline const resumption* resumption_of(const task_header& t) noexcept {
  const bool is_one = t.act == &resumption::perform || t.act == &resumption::perform_foreign ||
                      t.mark == suspension_step::is_step;
  return is_one ? static_cast<const resumption*>(&t) : nullptr;
}

/// Returns the root of a coroutine; null: the task is none, or belongs to no root.
inline const coroutine_root* root_of(const task_header& t) noexcept {
  if (const resumption* const coroutine = resumption_of(t)) return coroutine->root;
  return t.act == &coroutine_root::perform ? static_cast<const coroutine_root*>(&t) : nullptr;
}

/// Returns what stands for a task in events, from its queueing to its end: for a resumption its root.
inline const void* identity_of(const task_header& t) noexcept {
  const coroutine_root* const root = root_of(t);
  return root != nullptr ? static_cast<const void*>(root) : &t;
}

/// Returns that for which a coroutine has waited that is being queued; null: it has not, or slept, or waited for children.
inline const wait_record* wait_of(const task_header& t) noexcept {
  const resumption* const coroutine = resumption_of(t);
  if (coroutine == nullptr) return nullptr;
  if (coroutine->mark == suspension_step::is_step)
    return static_cast<const suspension_step*>(coroutine)->of.record;
  return coroutine->mark == resumption::is_suspension ? static_cast<const suspension*>(coroutine)->record
                                                      : nullptr;
}

} // namespace corewise::detail
