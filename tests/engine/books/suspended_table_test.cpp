#include "books/suspended_table.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <random>
#include <thread>
#include <utility>
#include <vector>

using namespace corewise;

namespace {

const detail::wait_record waits{wait_kind::event, nullptr};

/// Stands for a coroutine that waits: takes an entry and frees it, as a `suspension` does.
class waiting {
 public:
  bool take_entry(detail::suspended_table& table, detail::execution& here) {
    if (here.free_entries == nullptr) table.take(here);
    entry_ = here.free_entries;
    if (entry_ == nullptr) return false;
    here.free_entries = entry_->next;
    --here.free_entry_count;
    entry_->held = &self_;
    entry_->in.store(&waits, std::memory_order_relaxed);
    return true;
  }
  /// Returns whether no other has had its entry meanwhile.
  bool free_entry(detail::suspended_table& table, detail::execution& here) {
    const bool own = entry_->held == &self_ && entry_->in.load(std::memory_order_relaxed) == &waits;
    entry_->in.store(nullptr, std::memory_order_relaxed);
    entry_->next = std::exchange(here.free_entries, entry_);
    if (++here.free_entry_count == detail::suspension::free_entries_max) table.give_half(here);
    return own;
  }

 private:
  detail::suspension self_;
  detail::suspension_entry* entry_ = nullptr;
};

} // namespace

TEST_CASE("suspended table: while it is trimmed threads take and free entries, and others count them") {
  constexpr std::size_t threads = 3;
  constexpr std::size_t most = 500; // of a thread at once: some chunks come and go
  detail::suspended_table table;
  table.make_room(1);
  std::atomic<std::size_t> left{threads};
  std::atomic<bool> right{true};
  std::vector<std::jthread> all;
  for (unsigned t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      std::mt19937 random(t);
      detail::execution here;
      std::vector<waiting> held(most);
      for (int round = 0; round < 300; ++round) {
        const std::size_t n = random() % most;
        for (std::size_t i = 0; i < n; ++i)
          if (!held[i].take_entry(table, here)) right = false;
        for (std::size_t i = 0; i < n; ++i)
          if (!held[i].free_entry(table, here)) right = false;
      }
      table.give(here);
      --left;
    });
  all.emplace_back([&] {
    while (left != 0)
      for (const suspended_in& in : table.count())
        if (in.kind != wait_kind::event || in.coroutines > threads * most) right = false;
  });
  while (left != 0) table.trim();
  all.clear();
  CHECK(right);
  CHECK(table.count().empty());
  table.trim();
  CHECK_FALSE(table.any());
}
