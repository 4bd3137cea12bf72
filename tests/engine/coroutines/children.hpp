#pragma once

#include "small_engine.hpp"

#include <corewise/engine/engine.hpp>

// Small children for the tests of fork-join.

namespace corewise::tests {

inline task<int> answer(int n) { co_return n; }

inline task<> count(std::atomic<int>& n) {
  n.fetch_add(1);
  co_return;
}

/// Waits for a task on this thread, which is no worker and so may block.
template <class T> T run_on(std::uint32_t workers, task<T> work) {
  engine e(small_profile(workers));
  return sync_wait(e, std::move(work));
}

} // namespace corewise::tests
