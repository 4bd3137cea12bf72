#include "recording/recording.hpp"

#include "base/thread_end.hpp"
#include "recording/event_clock.hpp"
#include "recording/probes.hpp"

#include <corewise/engine/detail/lock.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace corewise::detail {

// In a section of the file, where the kernel finds it and counts tracers in it (sys/sdt.h: semaphores).
[[gnu::section(".probes"), gnu::used]] constinit atomic<std::uint16_t> event_readers{0};

namespace {

constinit atomic<thread_ring*> newest{nullptr};
constinit atomic<std::uint8_t> next_place{0};
constinit mutex readers;              // of those that begin and end
constinit std::uint16_t sessions = 0; // guarded: those of this process; `event_readers` counts tracers, too

/// The calling thread's, until its end.
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_ring* own = nullptr;

/// The child of a process fork has no session, and another thread.
void go_on_in_child() noexcept {
  event_readers.fetch_sub(std::exchange(sessions, 0), std::memory_order_relaxed);
  if (own != nullptr) own->thread = static_cast<std::uint32_t>(::gettid());
  readers.unlock(); // which its thread has locked
}

/// No session begins or ends meanwhile.
[[maybe_unused]] const bool renewed =
    ::pthread_atfork([] { readers.lock(); }, [] { readers.unlock(); }, &go_on_in_child) == 0;

constinit thread_end leaving([] {
  if (own == nullptr) return;
  own->taken.store(false, std::memory_order_release); // pairs: left
  own = nullptr;
});

thread_ring* make_ring() noexcept {
  void* const pages =
      ::mmap(nullptr, sizeof(thread_ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* const made = new (pages) thread_ring;
  thread_ring* before = newest.load(std::memory_order_relaxed);
  do made->next = before;
  while (!newest.compare_exchange_weak(before, made, std::memory_order_release, // pairs: list
                                       std::memory_order_relaxed));
  return made;
}

/// Returns a ring that no thread has any more, or makes one.
thread_ring* find_ring() noexcept {
  for (thread_ring* r = newest.load(std::memory_order_acquire); r != nullptr; r = r->next) { // pairs: list
    bool taken = r->taken.load(std::memory_order_relaxed);
    if (!taken && r->taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) // pairs: left
      return r;
  }
  return make_ring();
}

[[gnu::noinline]] thread_ring* take_ring() noexcept {
  if (!leaving.note()) return nullptr; // the ring would be lost
  thread_ring* const found = find_ring();
  if (found != nullptr) found->thread = static_cast<std::uint32_t>(::gettid());
  return own = found;
}

[[gnu::always_inline]] inline void add(thread_ring& to, event_head head, std::uint64_t first,
                                       std::uint64_t third, std::uint64_t fourth) noexcept {
  head.thread = to.thread;
  to.events.add({first, head.word(), third, fourth});
}

/// Adds the first event of a thread. Apart, so that the others save no registers.
[[gnu::noinline]] void add_first(event_head head, std::uint64_t first, std::uint64_t third,
                                 std::uint64_t fourth) noexcept {
  if (thread_ring* const to = take_ring(); to != nullptr) add(*to, head, first, third, fourth);
}

[[gnu::always_inline]] inline void add(event_head head, std::uint64_t first, std::uint64_t third,
                                       std::uint64_t fourth) noexcept {
  if (own == nullptr) return add_first(head, first, third, fourth);
  add(*own, head, first, third, fourth);
}

} // namespace

constinit std::array<atomic<const engine_registration*>, 256> registrations{};

engine_registration::engine_registration() noexcept {
  for (std::size_t tries = registrations.size(); tries != 0 && !in_table_; --tries) {
    number_ = engine_number(next_place.fetch_add(1, std::memory_order_relaxed));
    const engine_registration* none = nullptr;
    in_table_ = registrations[number_.value()].compare_exchange_strong(none, this, std::memory_order_relaxed);
  }
}

engine_registration::~engine_registration() {
  if (in_table_) registrations[number_.value()].store(nullptr, std::memory_order_relaxed);
}

void record(event_code what, engine_number of, std::uint32_t value, const void* task,
            std::uint64_t more) noexcept {
  probe(what, value, task, more);
  add({what, of.value(), 0, value}, event_clock::now(), reinterpret_cast<std::uintptr_t>(task), more);
}

void record_words(event_code what, engine_number of, std::span<const std::uint64_t, 3> words) noexcept {
  add({what, of.value()}, words[0], words[1], words[2]);
}

const thread_ring* newest_ring() noexcept { return newest.load(std::memory_order_acquire); } // pairs: list

event_reader::event_reader() noexcept {
  const std::scoped_lock lock(readers);
  event_readers.fetch_add(1, std::memory_order_relaxed);
  ++sessions;
}

/// The last one gives the rings' pages back, but each one's first, with its count, and what is behind the events. Where a
/// thread still records, a page comes again.
event_reader::~event_reader() {
  if (process_ != process_number()) return; // the parent's
  const std::scoped_lock lock(readers);     // no other begins meanwhile
  --sessions;
  if (event_readers.fetch_sub(1, std::memory_order_relaxed) != 1) return;
  const auto page = static_cast<std::size_t>(::getpagesize());
  for (thread_ring* r = newest.load(std::memory_order_acquire); r != nullptr; r = r->next) // pairs: list
    ::madvise(reinterpret_cast<std::byte*>(&r->events) + page, sizeof(r->events) / page * page - page,
              MADV_DONTNEED);
}

} // namespace corewise::detail
