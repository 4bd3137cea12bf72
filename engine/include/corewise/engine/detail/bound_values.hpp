#pragma once

#include <bit>
#include <cstdint>

// The values that a task has bound, for itself and its children: its label (hint.name, hint.id), and those of
// `task_local`.
//
// Each value is a node in a frame, or on the stack, of the task that has bound it. The nodes of a task are a
// chain, the newest first, that goes on with the chain of the task whose child it is: there is always one,
// since a parent waits for its children. So binding, forking and inheriting copy nothing, and a task that
// binds nothing pays nothing: where its own chain begins is found from what its thread runs anyway.
//
//     label ◄── value ◄── value     a root: its `strand`
//                           ▲
//                join ──────┘  ◄── value     a child of it: the `strand` of that one
//                           ▲
//                scope ─────┘                calls of a `blocking_scope` that the root made
//
// | what runs            | where its chain begins                                                  |
// |----------------------|-------------------------------------------------------------------------|
// | a coroutine          | `strand::bound`; where it has bound nothing, with its join              |
// | a call of a scope    | `execution::within`: the scope, which knows the chain of its maker      |
// | a call of a loop     | `execution::within`: the join of the loop, which knows the parent       |
// | another call, thread | `execution::within`: the newest value that it has bound itself; or none |

namespace corewise {
class blocking_scope;
}

namespace corewise::detail {

struct bound_value;
class join_point;
struct strand;

/// Where a chain begins or goes on. One word; null: nowhere.
class value_chain {
 public:
  constexpr value_chain() noexcept = default;
  value_chain(const blocking_scope* s) noexcept : word_(address_of(s)) {}
  value_chain(const bound_value* v) noexcept : word_(address_of(v) | value_bit) {}
  value_chain(const join_point* j) noexcept : word_(address_of(j) | join_bit) {}

  /// Return what it is, or null.
  const blocking_scope* scope() const noexcept { return in<const blocking_scope>(0); }
  const bound_value* value() const noexcept { return in<const bound_value>(value_bit); }
  const join_point* join() const noexcept { return in<const join_point>(join_bit); }

 private:
  friend struct debugger_layouts;

  static constexpr std::uintptr_t value_bit = 1;
  static constexpr std::uintptr_t join_bit = 2;

  static std::uintptr_t address_of(const void* p) noexcept { return std::bit_cast<std::uintptr_t>(p); }
  template <class T> T* in(std::uintptr_t bits) const noexcept {
    return (word_ & (value_bit | join_bit)) == bits ? std::bit_cast<T*>(word_ - bits) : nullptr;
  }

  std::uintptr_t word_ = 0;
};

/// A node of a chain.
struct bound_value {
  const void* key; ///< the `task_local`, or `label_key`
  value_chain outer;
};

/// Returns the newest value that the calling task, or one whose child it is, has bound to the key; null if
/// there is none. Cost: a few loads for each value and each parent.
const bound_value* find_bound(const void* key) noexcept;

/// Binds a value for the calling task, or outside of tasks for the calling thread, while it lives.
class binding : public bound_value {
 public:
  explicit binding(const void* bound_to) noexcept;
  binding(const binding&) = delete;
  binding& operator=(const binding&) = delete;
  ~binding();

  /// Returns what stood in its place in the strand.
  strand* before() const noexcept { return before_; }

 private:
  strand* in_ = nullptr; // null: no coroutine
  strand* before_ = nullptr;
};

} // namespace corewise::detail
