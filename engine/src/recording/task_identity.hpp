#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/task_header.hpp>

namespace corewise::detail {

/// Returns the place from which a coroutine goes on; null: the task is no coroutine, or one that begins or has yielded.
inline const resumption* resumption_of(const task_header& t) noexcept {
  const bool is_one = t.act == &resumption::perform || t.act == &resumption::perform_foreign ||
                      t.mark == suspension_step::is_step;
  return is_one ? static_cast<const resumption*>(&t) : nullptr;
}

/// Returns the root of a coroutine; null: the task is none, or belongs to no root.
inline const coroutine_root* root_of(const task_header& t) noexcept {
  if (const resumption* const place = resumption_of(t)) return place->root;
  return t.act == &coroutine_root::perform ? static_cast<const coroutine_root*>(&t) : nullptr;
}

/// Returns what stands for a task in events, from its queueing to its end: for a resumption its root.
inline const void* identity_of(const task_header& t) noexcept {
  const coroutine_root* const root = root_of(t);
  return root != nullptr ? static_cast<const void*>(root) : &t;
}

/// Returns that for which a coroutine has waited that is being queued; null: it has not, or slept, or waited for children.
inline const wait_record* wait_of(const task_header& t) noexcept {
  const resumption* const place = resumption_of(t);
  if (place == nullptr) return nullptr;
  if (place->mark == suspension_step::is_step) return static_cast<const suspension_step*>(place)->of.record;
  return place->mark == resumption::is_suspension ? static_cast<const suspension*>(place)->record : nullptr;
}

} // namespace corewise::detail
