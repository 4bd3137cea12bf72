#include "books/suspended_table.hpp"

#include <fmt/format.h>

#include <new>
#include <type_traits>
#include <utility>

namespace corewise {

std::string_view to_string(wait_kind kind) noexcept {
  switch (kind) {
  case wait_kind::event: return "event";
  case wait_kind::auto_reset_event: return "auto_reset_event";
  case wait_kind::semaphore: return "semaphore";
  case wait_kind::mutex: return "mutex";
  case wait_kind::latch: return "latch";
  case wait_kind::barrier: return "barrier";
  case wait_kind::send: return "channel::send";
  case wait_kind::receive: return "channel::receive";
  case wait_kind::oneshot: return "oneshot";
  case wait_kind::blocking_call: return "run_blocking";
  case wait_kind::read: return "io: read";
  case wait_kind::write: return "io: write";
  case wait_kind::accept: return "io: accept";
  case wait_kind::connect: return "io: connect";
  case wait_kind::io: return "io";
  case wait_kind::future: break;
  }
  return "future";
}

std::string to_text(const socket_wait& wait) {
  return fmt::format("{} of descriptor {}{} for {:.1f} s", to_string(wait.kind), wait.descriptor,
                     wait.peer.empty() ? "" : fmt::format(" ({})", wait.peer),
                     std::chrono::duration<double>(wait.time).count());
}

namespace detail {

std::vector<suspended_in> by_kind(const std::array<std::uint64_t, wait_kinds>& coroutines) {
  std::vector<suspended_in> all;
  for (std::size_t kind = 0; kind < wait_kinds; ++kind)
    if (coroutines[kind] != 0) all.push_back({static_cast<wait_kind>(kind), coroutines[kind]});
  return all;
}

suspended_table::~suspended_table() {
  for (chunk* c = chunks_.load(std::memory_order_relaxed); c != nullptr;)
    release_block(std::exchange(c, c->next), chunk_class);
}

void suspended_table::make_room(std::size_t threads) {
  const std::scoped_lock lock(mutex_);
  static_assert(std::tuple_size_v<decltype(chunk::entries)> > suspension::free_entries_max);
  for (std::size_t i = 0; i < threads; ++i) add_chunk(acquire_block(chunk_class));
  room_ += threads;
}

/// Call with the lock held.
void suspended_table::add_chunk(void* memory) noexcept {
  static_assert(std::is_trivially_destructible_v<chunk>);
  chunk* const added = ::new (memory) chunk;
  added->of = this;
  added->next = chunks_.load(std::memory_order_relaxed);
  for (suspension_entry& s : added->entries) free(s);
  chunks_.store(added, std::memory_order_release); // pairs: made
}

suspended_table::chunk& suspended_table::chunk_of(suspension_entry& s) noexcept {
  auto* const bytes = reinterpret_cast<std::byte*>(&s);
  return *reinterpret_cast<chunk*>(bytes - reinterpret_cast<std::uintptr_t>(bytes) % chunk_bytes);
}

/// Call with the lock held.
void suspended_table::free(suspension_entry& s) noexcept {
  s.in.store(nullptr, std::memory_order_relaxed);
  s.next = std::exchange(free_, &s);
}

void suspended_table::take(execution& here) noexcept {
  const std::scoped_lock lock(mutex_);
  if (free_ == nullptr) {
    void* const memory = try_acquire_block(chunk_class);
    if (memory == nullptr) return;
    add_chunk(memory);
  }
  for (; free_ != nullptr && here.free_entry_count != taken_at_once; ++here.free_entry_count) {
    suspension_entry* const s = std::exchange(free_, free_->next);
    s->next = std::exchange(here.free_entries, s);
  }
}

void suspended_table::give_half(execution& here) noexcept { give(here, here.free_entry_count / 2); }

void suspended_table::give(execution& here) noexcept { give(here, here.free_entry_count); }

void suspended_table::give(execution& here, std::uint32_t number) noexcept {
  if (number == 0) return;
  const std::scoped_lock lock(mutex_);
  here.free_entry_count -= number;
  for (; number != 0; --number) {
    suspension_entry* const s = std::exchange(here.free_entries, here.free_entries->next);
    s->next = std::exchange(free_, s);
  }
}

void suspended_table::forget(suspension& s) noexcept {
  suspended_table& table = *chunk_of(*s.entry).of;
  if (table.process_ != process_number()) return; // the parent's: the lock may be held for ever
  const std::scoped_lock lock(table.mutex_);
  table.free(*std::exchange(s.entry, nullptr));
}

void suspended_table::trim() noexcept {
  const std::scoped_lock walking(walking_);
  suspension_entry* spare = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    spare = std::exchange(free_, nullptr);
  }
  for (suspension_entry* s = spare; s != nullptr; s = s->next) ++chunk_of(*s).spare;
  // Other threads put chunks before the first one, and change nothing behind it.
  chunk* gone = nullptr;
  chunk* before = chunks_.load(std::memory_order_acquire); // pairs: made
  if (before != nullptr) before->spare = 0;
  for (std::size_t stay = 1; before != nullptr && before->next != nullptr;) {
    chunk* const c = before->next;
    if (c->spare == c->entries.size() && stay >= room_) {
      before->next = c->next;
      c->next = std::exchange(gone, c);
    } else {
      c->spare = 0;
      before = c;
      ++stay;
    }
  }
  suspension_entry* kept = nullptr;
  suspension_entry* last = nullptr;
  while (spare != nullptr) {
    suspension_entry* const s = std::exchange(spare, spare->next);
    if (chunk_of(*s).spare != 0) continue; // it goes
    s->next = std::exchange(kept, s);
    if (last == nullptr) last = s;
  }
  while (gone != nullptr) release_block(std::exchange(gone, gone->next), chunk_class);
  if (kept == nullptr) return;
  const std::scoped_lock lock(mutex_);
  last->next = std::exchange(free_, kept);
}

/// Takes a coroutine out of its entry and its wait. The frame and the object that it waits for exist until the
/// entry is free, and freeing it takes the lock. Returns nullptr if the entry is free, or the coroutine is not
/// the caller's.
suspension* suspended_table::withdraw(suspension_entry& s) noexcept {
  const std::scoped_lock lock(mutex_);
  const wait_record* const in = s.in.load(std::memory_order_relaxed);
  if (in == nullptr) return nullptr;
  suspension* const waits = s.held;
  switch (in->withdraw(*waits)) {
  case withdrawal::of_waker: return nullptr;
  case withdrawal::elsewhere:
    // It counts no more. The frame, which another thread may be destroying, frees it, if it goes.
    s.in.store(nullptr, std::memory_order_relaxed);
    return nullptr;
  case withdrawal::of_end: break;
  }
  waits->entry = nullptr;
  free(s);
  return waits;
}

/// Looks under the lock, so that the caller sees all that was done before the last entry became free.
bool suspended_table::any() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const chunk* c = chunks_.load(std::memory_order_relaxed); c != nullptr; c = c->next)
    for (const suspension_entry& s : c->entries)
      if (s.in.load(std::memory_order_relaxed) != nullptr) return true;
  return false;
}

std::vector<suspended_in> suspended_table::count() const {
  std::array<std::uint64_t, wait_kinds> coroutines{};
  const std::scoped_lock walking(walking_);
  for (const chunk* c = chunks_.load(std::memory_order_acquire); c != nullptr; c = c->next) // pairs: made
    for (const suspension_entry& s : c->entries)
      if (const wait_record* in = s.in.load(std::memory_order_relaxed))
        ++coroutines[static_cast<std::size_t>(in->kind)];
  return by_kind(coroutines);
}

} // namespace detail

} // namespace corewise
