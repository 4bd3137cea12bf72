#pragma once

#include "base/process_fork.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <vector>

namespace corewise::detail {

/// Returns the kinds that have any coroutines, in the order of the kinds.
std::vector<suspended_in> by_kind(const std::array<std::uint64_t, wait_kinds>& coroutines);

/// The table of an engine's suspended coroutines (suspension.hpp). The table makes entries when they are needed,
/// in chunks, which are recycled blocks. It holds the free entries that no thread has.
///
/// A trim gives a chunk back when the table holds all of its entries. It takes the free entries out first, so that no
/// thread gets one of them meanwhile. New chunks come before the first one, under the table's lock; chunks go from behind
/// it, under a second lock, which counts take too.
///
/// | tag  | release site     | acquire site               | publishes        | weakened                |
/// |------|------------------|----------------------------|------------------|-------------------------|
/// | made | add_chunk: store | count, withdraw_all, trim: | entries, free ones | the counter follows a   |
/// |      |                  | loads                      |                  | pointer to no record    |
class suspended_table {
 public:
  suspended_table() noexcept = default;
  suspended_table(const suspended_table&) = delete;
  suspended_table& operator=(const suspended_table&) = delete;
  ~suspended_table();

  /// Makes more entries than so many threads keep for themselves. So a coroutine that waits allocates nothing,
  /// unless many wait. Throws `std::bad_alloc`.
  void make_room(std::size_t threads);
  /// Gives free entries to a thread of the engine that has none; without memory the thread gets none. Cost: a
  /// lock.
  void take(execution& here) noexcept;
  /// Takes half of a thread's free entries back.
  void give_half(execution& here) noexcept;
  /// Takes all free entries of a thread back.
  void give(execution& here) noexcept;
  /// Frees the entry of a suspended coroutine whose frame is destroyed. Call from any thread.
  static void forget(suspension& s) noexcept;

  /// Gives the chunks back of which all entries are free, but for so many as `make_room` made. Call from any thread,
  /// but not during `withdraw_all` and `any`. Cost: some ns for each free entry; only a count waits for the caller.
  void trim() noexcept;

  /// Returns how many coroutines wait, for each kind that has any, in the order of the kinds. Call from any
  /// thread; only a trim and other counts wait for the caller.
  std::vector<suspended_in> count() const;
  /// Returns whether any entry is taken. Call when no thread of the engine is left.
  bool any() noexcept;
  /// Calls f with each coroutine that no waker has woken. The coroutine belongs to the caller then. Call when
  /// no thread of the engine is left.
  template <class F> void withdraw_all(const F& f) noexcept {
    for (chunk* c = chunks_.load(std::memory_order_acquire); c != nullptr; c = c->next) // pairs: made
      for (suspension_entry& s : c->entries)
        if (suspension* const waits = withdraw(s)) f(*waits);
  }

 private:
  friend struct debugger_layouts;

  static constexpr std::size_t chunk_bytes = 1024;
  static constexpr std::uint32_t taken_at_once = suspension::free_entries_max / 2;

  struct alignas(chunk_bytes) chunk { // aligned so that an entry's address tells its chunk
    suspended_table* of = nullptr;
    chunk* next = nullptr;
    std::size_t spare = 0; // entries that a trim has taken out; the trim's alone
    std::array<suspension_entry, chunk_bytes / sizeof(suspension_entry) - 2> entries{};
  };
  static_assert(sizeof(chunk) == chunk_bytes);
  static constexpr std::size_t chunk_class = block_class(chunk_bytes);

  static chunk& chunk_of(suspension_entry& s) noexcept;
  void add_chunk(void* memory) noexcept;
  void give(execution& here, std::uint32_t number) noexcept;
  suspension* withdraw(suspension_entry& s) noexcept;
  void free(suspension_entry& s) noexcept;

  const std::uint32_t process_ = process_number(); // in which it was made
  mutex mutex_;
  suspension_entry* free_ = nullptr; // guarded
  atomic<chunk*> chunks_{nullptr};   // changed under the lock
  std::size_t room_ = 0;             // the chunks of `make_room`
  mutable mutex walking_;            // of a trim and of counts; taken before the other
};

} // namespace corewise::detail
