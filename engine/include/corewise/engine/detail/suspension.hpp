#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/suspended.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <utility>

// How an engine knows which coroutines wait for others: for people, and for its end.
//
// Invariant: while an entry is taken, the frame of its coroutine exists, and so does the thing for which it
// waits. From the end of the engine's threads on, entries are followed and freed only under the table's lock.
//
// A queued coroutine is found in the queues, and a sleeping one in the wheels. A coroutine that waits for an
// event, a value and so on is known only to the thing for which it waits. So it also stands in an *entry* of
// its engine. An entry comes from the free entries of the thread, and goes to the free entries of the thread
// that resumes the coroutine: some loads and stores, and no locked instruction. Threads that have too many
// free entries, or none, exchange some with the engine's table (suspended_table.hpp), behind a lock.
//
// When no thread of the engine is left no thread resumes coroutines any more. Then the engine *withdraws*
// each coroutine that stands in an entry from the thing for which it waits, as a stop token would do. So the
// thread that takes the coroutine out of there ends it, as always: the engine, or a waker that woke it just
// then. That waker finds the engine ended and destroys the coroutine with the queued tasks. A queued coroutine
// that is dropped frees its entry, since its frame may stay: with that of a parent whose other child is kept. A
// frame frees its entry before it goes.
//
// A coroutine whose wait *settles* is withdrawn as well, and then kept (dropping.hpp): nothing resumes it,
// and nothing destroys it, so that the thread that is late writes into memory that is still there.
//
// The end waits until no entry is taken: a waker that took a coroutine out just then needs its engine until
// it has queued it. That waker has announced itself (`runtime::waking`), and the engine's memory stays
// until it has left.
//
//     free ──suspend──► taken ──resumed──► free          the engine's threads, as long as there are any
//                         ├──withdrawn──► free           under the lock: the engine's end
//                         └──dropped, or frame destroyed──► free     under the lock: a thread that drops queued tasks
//
// `tests/model/suspended.pml` is the protocol, with its mutants.

namespace corewise::detail {

struct suspension;

/// The action of the engine's end on a coroutine that still waits (ADR 0049).
enum class wait_end : std::uint8_t {
  unlink, ///< takes it out of what it waits for, and destroys it
  settle, ///< keeps it: another thread writes into what it waits for, and that may lie in its frame
};

/// Whose a coroutine is that the engine's end takes out of what it waits for.
enum class withdrawal : std::uint8_t {
  of_end,   ///< the end's
  of_waker, ///< that of a thread which has taken it out, and queues it
  elsewhere ///< that of another entry, or of none: this one is a part of a race that another part has won
};

/// The common data of all coroutines that wait in one way. Constants of this type are hidden: GCC makes
/// others unique in the process, and then modules with them are never unloaded.
struct wait_record {
  wait_kind kind;
  /// Takes the coroutine out of what it waits for.
  withdrawal (*withdraw)(suspension& s) noexcept;
  wait_end end = wait_end::unlink;
};

struct suspension_entry {
  /// Null: the entry is free. Relaxed: a thread that looks while threads of the engine run only counts; later
  /// it is changed under a lock.
  atomic<const wait_record*> in{nullptr};
  union {
    suspension* held = nullptr; ///< by a taken entry
    suspension_entry* next;     ///< of a free entry
  };
};

/// A suspended coroutine that its engine knows of. Lives in the coroutine's frame, within an awaiter, whose
/// destructor calls `free_entry`.
struct suspension : resumption {
  static constexpr std::uint32_t free_entries_max = 32; ///< of a thread

  suspension() noexcept {} // not defaulted: then `{}` would fill it with zeros first

  const wait_record* record = nullptr;
  suspension_entry* entry = nullptr; ///< null: it stands in no entry

  /// Acts as `resumption::suspend`, and sees to it that there is a free entry. `how` must live for ever.
  template <class Promise>
  void suspend(std::coroutine_handle<Promise> suspended, const wait_record& how) noexcept {
    resumption::suspend(suspended);
    mark = is_suspension;
    record = &how;
    if (this_execution.free_entries == nullptr && root != nullptr) [[unlikely]]
      fetch_entries();
  }
  /// Takes an entry, so that the coroutine counts as waiting. Call before any other thread sees it. Without
  /// memory it stands in no entry.
  void take_entry() noexcept {
    execution& here = this_execution;
    suspension_entry* const free = here.free_entries;
    if (free == nullptr || root == nullptr) [[unlikely]]
      return;
    here.free_entries = free->next;
    --here.free_entry_count;
    free->held = this;
    free->in.store(record, std::memory_order_relaxed);
    entry = free;
  }
  /// Frees the entry of a coroutine that goes on. Call on a thread of its engine.
  void resumed() noexcept {
    frame = nullptr;
    suspension_entry* const left = entry;
    if (left == nullptr) return;
    entry = nullptr;
    execution& here = this_execution;
    left->in.store(nullptr, std::memory_order_relaxed);
    left->next = here.free_entries;
    here.free_entries = left;
    if (++here.free_entry_count == free_entries_max) [[unlikely]]
      return_entries();
  }
  /// Returns whether it waits, and must still be taken out of what it waits for when its frame is destroyed: it belongs
  /// to no engine, or a task has begun it by hand. The end of an engine takes its coroutines out itself. Call before
  /// `free_entry`.
  bool is_left_waiting() const noexcept { return frame != nullptr && (root == nullptr || entry != nullptr); }
  /// Frees the entry of a frame that is destroyed. Call from any thread.
  void free_entry() noexcept {
    if (entry != nullptr) [[unlikely]]
      free_entry_locked();
  }

 private:
  static void fetch_entries() noexcept;
  static void return_entries() noexcept;
  void free_entry_locked() noexcept;
};

/// A task that is queued in place of a suspended coroutine, and makes a step of that for which the coroutine waits. It
/// has the coroutine's root, so that traces show it as a part of the coroutine's task.
struct suspension_step : resumption {
  static constexpr std::uint8_t is_step = 127; ///< the `mark`, which no task of another type has

  explicit suspension_step(suspension& s) noexcept : of(s) { mark = is_step; }

  suspension& of;
};

} // namespace corewise::detail
