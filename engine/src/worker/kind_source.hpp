#pragma once

#include "worker/task_label.hpp"

#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/future.hpp>

#include <coroutine>
#include <cstdint>

namespace corewise::detail {

/// The source of the kind of a task whose coroutine runs: the frame of the user's coroutine, or the name of a closure of
/// which a label has made a coroutine.
struct kind_source {
  const void* frame = nullptr;
  const char* name = nullptr; // goes before the frame

  /// `read`: as in `chain_walk`. Returns nothing if it cannot be read.
  template <class Read>
  static kind_source of(const strand& s, const task_label& label, const Read& read) noexcept {
    const void* const frame = const_cast<strand&>(s).frame().address(); // by its address alone
    std::uint8_t mark = 0;
    if (!read(&s.mark, mark)) return {};
    if (static_cast<strand_role>(mark) != strand_role::root) return {frame};
    std::coroutine_handle<> future;
    const void* work = label.frame;
    if (read(&s.continuation, future) && future != nullptr)
      static_cast<void>(read(&static_cast<const future_state*>(future.address())->work, work));
    else if (label.kind != nullptr)
      return {nullptr, label.kind};
    return {work != nullptr ? work : frame};
  }
};

} // namespace corewise::detail
