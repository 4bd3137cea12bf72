#include "runtime/runtime.hpp"

#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/resume_on.hpp>

#include <stdexcept>

namespace corewise {

detail::moving_to_engine resume_on(engine& e) noexcept { return detail::moving_to_engine(*e.runtime_); }

namespace detail {

namespace {

coroutine_root& calling_root() {
  coroutine_root* const root = this_execution.root;
  if (root == nullptr) throw std::logic_error("resume_on is for coroutines that an engine runs");
  return *root;
}

} // namespace

void moving_to_group::move(std::coroutine_handle<> suspended, bool is_of_task) {
  const coroutine_root& root = calling_root();
  if (to_.value >= root.engine->groups().size())
    throw std::logic_error("resume_on: the engine has no such group");
  resumption_.suspend(suspended, is_of_task);
  root.engine->place_again(resumption_, {.group = to_, .run_as = root.run_as});
}

void moving_to_engine::move(std::coroutine_handle<> suspended, bool is_of_task, bool is_nested) {
  const coroutine_root& root = calling_root();
  resumption_.suspend(suspended, is_of_task);
  if (root.engine == &to_) return to_.place_again(resumption_, {.run_as = root.run_as});
  if (static_cast<strand_role>(root.mark) != strand_role::root)
    throw std::logic_error("resume_on: a child of when_all or of a scope stays on its parent's engine");
  if (is_nested)
    throw std::logic_error("resume_on: a coroutine of a type other than corewise::task stays on its engine, "
                           "with all coroutines that it awaits");
  const std::shared_ptr<runtime> held = to_.shared_from_this(); // it may end there before this returns
  if (!held->take_over(resumption_)) throw not_run();
}

} // namespace detail

} // namespace corewise
