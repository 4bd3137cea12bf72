#include "base/chain_walk.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/this_task.hpp>

#include <cstdint>
#include <utility>

namespace corewise {

namespace detail {

namespace {

value_chain chain_of(const coroutine_root& root) noexcept {
  return *chain_walk::of(static_cast<const strand&>(root), chain_walk::read_own);
}

} // namespace

const bound_value* find_bound(const void* key) noexcept {
  const execution& here = this_execution;
  return chain_walk::find(key, here.root, here.within, UINT32_MAX, chain_walk::read_own);
}

binding::binding(const void* bound_to) noexcept : bound_value{bound_to, {}} {
  execution& here = this_execution;
  if (here.root == nullptr) {
    outer = std::exchange(here.within, value_chain(this));
    return;
  }
  outer = chain_of(*here.root);
  in_ = static_cast<strand*>(here.root);
  before_ = in_->bind(*this);
}

binding::~binding() {
  if (in_ == nullptr)
    this_execution.within = outer;
  else
    in_->sibling = before_;
}

} // namespace detail

detail::value_chain blocking_scope::chain_of(const detail::coroutine_root& maker) noexcept {
  return detail::chain_of(maker);
}

const char* this_task::name() noexcept {
  const auto* const label = static_cast<const detail::task_label*>(detail::find_bound(&detail::label_key));
  return label != nullptr ? label->name : nullptr;
}

trace_id this_task::id() noexcept {
  const auto* const label = static_cast<const detail::task_label*>(detail::find_bound(&detail::label_key));
  return label != nullptr ? label->id : trace_id{};
}

} // namespace corewise
