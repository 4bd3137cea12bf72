#pragma once

#include <corewise/engine/detail/task_header.hpp>

#include <cstdint>

namespace corewise::detail {

/// A chain of tasks through `task_header::next`.
struct task_chain {
  task_header* first = nullptr;
  task_header* last = nullptr;
  std::uint32_t size = 0;

  void push(task_header* t) noexcept {
    t->next = nullptr;
    (last == nullptr ? first : last->next) = t;
    last = t;
    ++size;
  }
  void append(const task_chain& chain) noexcept {
    if (chain.size == 0) return;
    (last == nullptr ? first : last->next) = chain.first;
    last = chain.last;
    size += chain.size;
  }
  task_header* pop() noexcept {
    task_header* t = first;
    if (t == nullptr) return nullptr;
    first = t->next;
    if (first == nullptr) last = nullptr;
    --size;
    return t;
  }
};

} // namespace corewise::detail
