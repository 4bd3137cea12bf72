#pragma once

#include <corewise/engine/detail/resumption.hpp>
#include <corewise/engine/suspended.hpp>

#include <atomic>
#include <utility>

// How an engine knows who waits for something that others do: for people, and for its end.
//
// Who is queued, or sleeps, is found in the queues and in the wheels. Who waits for an event, a value and so on is known to
// what it waits for alone, so it also stands in a *slot* of its engine. A slot comes from those that the thread has free, and goes
// to those of the thread that resumes the coroutine: some loads and stores, and no locked instruction. Threads that
// have too many, or none, exchange some with the engine's table (suspended_table.hpp), behind a lock.
//
// When no thread of the engine is left nobody resumes any more, and who stands in a slot is *withdrawn* from what it waits
// for, as a stop token would do it. So whoever takes it out of there ends it, as always: the engine, or whoever woke it just
// then; that one's thread finds the engine ended and destroys it with what is queued. A taken slot says that the frame, and with
// it what it waits for, is still there: from then on slots are followed and freed under the table's lock only, and a frame
// frees its slot before it goes.
//
//     free ──suspend──► taken ──resumed──► free                 the engine's threads, as long as there are any
//                         ├──withdrawn──► free                  under the lock: the engine's end
//                         └──frame destroyed──► free            under the lock: whoever drops what is queued
//
// `tests/model/suspended.pml` is the protocol, with its mutants.

namespace corewise::detail {

struct suspension;

/// What is common to all that wait in one way.
struct wait_record {
  wait_kind kind;
  /// Takes it out of what it waits for; false: somebody has done so, and wakes it.
  bool (*withdraw)(suspension& s) noexcept;
};

struct suspension_slot {
  /// Null: it is free. Relaxed: who looks while threads of the engine run only counts; later it is changed under a lock.
  std::atomic<const wait_record*> in{nullptr};
  union {
    suspension* who = nullptr; ///< of a taken one
    suspension_slot* next;     ///< of a free one
  };
};

/// A suspended coroutine that its engine knows of. Lives in the coroutine's frame, within an awaiter, whose destructor calls
/// `leave_slot`.
struct suspension : resumption {
  static constexpr std::uint32_t free_slots_max = 32; ///< of a thread

  const wait_record* record = nullptr;
  suspension_slot* slot = nullptr; ///< null: it stands in none

  /// As `resumption::suspend`, and sees to it that there is a slot. `how` lives for ever.
  void suspend(std::coroutine_handle<> suspended, const wait_record& how) noexcept {
    resumption::suspend(suspended);
    record = &how;
    if (this_execution.free_slots == nullptr && root != nullptr) [[unlikely]]
      find_slots();
  }
  /// Before anybody else sees it: it waits. Without memory it stands in no slot.
  void enter_slot() noexcept {
    execution& here = this_execution;
    suspension_slot* const free = here.free_slots;
    if (free == nullptr || root == nullptr) [[unlikely]]
      return;
    here.free_slots = free->next;
    --here.free_slot_count;
    free->who = this;
    free->in.store(record, std::memory_order_relaxed);
    slot = free;
  }
  /// It goes on. On a thread of its engine.
  void resumed() noexcept {
    frame = nullptr;
    suspension_slot* const left = slot;
    if (left == nullptr) return;
    slot = nullptr;
    execution& here = this_execution;
    left->in.store(nullptr, std::memory_order_relaxed);
    left->next = here.free_slots;
    here.free_slots = left;
    if (++here.free_slot_count == free_slots_max) [[unlikely]]
      give_slots();
  }
  /// Whether it waits, and belongs to no engine: then whoever destroys the frame has not taken it out of what it waits for.
  bool waits_outside() const noexcept { return frame != nullptr && root == nullptr; }
  /// Its frame is destroyed. Any thread.
  void leave_slot() noexcept {
    if (slot != nullptr) [[unlikely]]
      leave_slot_locked();
  }

 private:
  static void find_slots() noexcept;
  static void give_slots() noexcept;
  void leave_slot_locked() noexcept;
};

} // namespace corewise::detail
