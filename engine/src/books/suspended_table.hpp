#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/suspension.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <vector>

namespace corewise::detail {

/// Where an engine's suspended coroutines stand (suspension.hpp). Its slots are made as they are needed and stay; those that
/// no thread has are here.
///
/// | tag  | release site     | acquire site               | publishes        | weakened                     |
/// |------|------------------|----------------------------|------------------|------------------------------|
/// | made | add_chunk: store | count, withdraw_all: loads | slots, free ones | who counts follows no record |
class suspended_table {
 public:
  suspended_table() noexcept = default;
  suspended_table(const suspended_table&) = delete;
  suspended_table& operator=(const suspended_table&) = delete;
  ~suspended_table();

  /// More slots than so many threads keep for themselves, so that who waits allocates nothing unless many do. Throws
  /// `std::bad_alloc`.
  void make_room(std::size_t threads);
  /// Free slots for a thread of the engine that has none; without memory it gets none. Cost: a lock.
  void take(execution& here) noexcept;
  /// Half of a thread's free slots.
  void give_half(execution& here) noexcept;
  /// All of them.
  void give(execution& here) noexcept;
  /// The frame of one that stands here is destroyed. Any thread.
  static void forget(suspension& s) noexcept;

  /// How many wait, for each kind that somebody waits for, in the order of the kinds. Any thread; nobody waits for it.
  std::vector<suspended_in> count() const;
  /// No thread of the engine is left: calls f with each that nobody has woken, which is the caller's then.
  template <class F> void withdraw_all(const F& f) noexcept {
    for (chunk* c = chunks_.load(std::memory_order_acquire); c != nullptr; c = c->next) // pairs: made
      for (suspension_entry& s : c->slots)
        if (suspension* const waits = withdraw(s)) f(*waits);
  }

 private:
  static constexpr std::size_t chunk_bytes = 1024;
  static constexpr std::uint32_t taken_at_once = suspension::free_entries_max / 2;

  struct alignas(chunk_bytes) chunk { // so that a slot tells whose it is
    suspended_table* of = nullptr;
    chunk* next = nullptr;
    std::array<suspension_entry, chunk_bytes / sizeof(suspension_entry) - 1> slots{};
  };
  static_assert(sizeof(chunk) == chunk_bytes);

  void add_chunk();
  void give(execution& here, std::uint32_t number) noexcept;
  suspension* withdraw(suspension_entry& s) noexcept;
  void free(suspension_entry& s) noexcept;

  mutex mutex_;
  suspension_entry* free_ = nullptr; // guarded
  atomic<chunk*> chunks_{nullptr};   // changed under the lock
};

} // namespace corewise::detail
