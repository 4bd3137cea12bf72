#pragma once

#include "base/process_fork.hpp"
#include "recording/event_ring.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <array>
#include <cstdint>
#include <span>

// The recorder of events: a ring for each thread that records one, for the life of the process. A ring whose thread has
// ended is the next new thread's. While nothing wants events, a place where one could be recorded costs a compare with
// memory and a branch.

namespace corewise::detail {

/// The kind of an event. Its words 0 to 3: the time of `event_clock`; the `event_head`; the task; more about it.
enum class event_code : std::uint8_t {
  none,
  // In the order of `trace_event::kind`.
  queued,    // from here on the task waits for a worker; word 3: 1 + the `wait_kind` that is over, or 0
  begun,     // value: the worker, and how word 3 tells the kind (task_event.hpp)
  ended,     // value: the worker
  suspended, // value: the worker
  stolen,   // value: the victim; the task that runs next; word 3: the level, and above it the number of tasks
  parked,   // value: the worker
  woken,    // value: the worker
  blocking, // value: the worker
  unblocked,
  polled, // value: the worker; word 3: events that were ready
  load,   // value: the worker; word 3: tasks that wait for it, and the one that runs
  name,   // follows `begun`: its task's name, in all words but the head, and more of them in the next event
  id,     // follows `begun`: its task's id, in words 2 and 3
};

/// Word 1 of an event.
struct event_head {
  event_code what = event_code::none;
  std::uint8_t engine = 0;  ///< `engine_number`
  std::uint32_t thread = 0; ///< the kernel's id, below 2^24
  std::uint32_t value = 0;  ///< below 2^24

  static constexpr std::uint32_t mask = (1U << 24) - 1;
  std::uint64_t word() const noexcept {
    return static_cast<std::uint64_t>(what) | std::uint64_t{engine} << 8 |
           std::uint64_t{thread & mask} << 16 | std::uint64_t{value & mask} << 40;
  }
  static event_head of(std::uint64_t word) noexcept {
    return {static_cast<event_code>(word & 255), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint32_t>(word >> 16) & mask, static_cast<std::uint32_t>(word >> 40)};
  }
};

/// Tells the engines of a process apart in events.
class engine_number {
 public:
  explicit constexpr engine_number(std::uint8_t value) noexcept : value_(value) {}
  std::uint8_t value() const noexcept { return value_; }

 private:
  std::uint8_t value_;
};

struct debugger_layouts;

/// An engine's entry in the process's table of engines, in which debuggers look (runtime/debugger_view.hpp).
/// While it lives no other engine has its number, unless there are more than 256 engines: the others are
/// not in it. A number that became free is given again as late as possible, since older events have it. Make
/// and destroy it on any thread.
class engine_registration {
 public:
  engine_registration() noexcept;
  engine_registration(const engine_registration&) = delete;
  engine_registration& operator=(const engine_registration&) = delete;
  ~engine_registration();

  const engine_number& number() const noexcept { return number_; }
  /// Returns whether it stands in the table.
  bool in_table() const noexcept { return in_table_; }
  /// Shows a `debugger_view`, or null, to debuggers. Call from the thread that makes or destroys the engine.
  void show(const void* view) noexcept { shown_ = view; }

 private:
  friend debugger_layouts;

  engine_number number_{0};
  bool in_table_ = false;
  const void* shown_ = nullptr; // read by debuggers only, while the process stands still
};

/// The table. Relaxed: a debugger reads it while the process stands still.
[[gnu::visibility(
    "hidden")]] extern constinit std::array<atomic<const engine_registration*>, 256> registrations;

/// How many want events: sessions (session.hpp), and the kernel for programs that trace this process by its probes.
/// Relaxed: a thread that sees it late records late.
[[gnu::visibility("hidden")]] extern constinit atomic<std::uint16_t> event_readers;

/// Returns whether events are to be recorded. Cost: a compare and a branch.
inline bool recording() noexcept {
#ifdef __x86_64__
  // The compilers load a word of this type first, and then compare.
  asm goto("cmpw $0, %0\n\tjne %l1" : : "m"(event_readers) : "cc" : wanted);
  return false;
wanted:
  return true;
#else
  return event_readers.load(std::memory_order_relaxed) != 0;
#endif
}

/// Records an event of the calling thread; nothing where there is no memory for its ring. Cost: some 15 ns; the first
/// time, 256 KB. Call while `recording()`.
[[gnu::cold, gnu::noinline]] void record(event_code what, engine_number of, std::uint32_t value,
                                         const void* task, std::uint64_t more = 0) noexcept;
/// Records up to 24 bytes of a name, or an id, of the task that was begun last.
[[gnu::cold]] void record_words(event_code what, engine_number of,
                                std::span<const std::uint64_t, 3> words) noexcept;

/// The ring of one thread after another.
///
/// | tag  | release site              | acquire site       | publishes                  | weakened              |
/// |------|---------------------------|--------------------|----------------------------|-----------------------|
/// | left | a thread's end: store     | find_ring: CAS     | what the thread has written | an event is lost     |
/// | list | make_ring: CAS            | each load of the   | the ring                   | a reader sees half of |
/// |      |                           | newest ring        |                            | it                    |
struct thread_ring {
  event_ring events;
  atomic<bool> taken{true};    // by a thread
  std::uint32_t thread = 0;    // that one; only it reads this
  thread_ring* next = nullptr; // the next older ring
};

/// Returns the newest ring, from which `next` leads to all. Call from any thread.
const thread_ring* newest_ring() noexcept;

/// Keeps threads recording while it lives.
class event_reader {
 public:
  event_reader() noexcept;
  event_reader(const event_reader&) = delete;
  event_reader& operator=(const event_reader&) = delete;
  ~event_reader();

 private:
  const std::uint32_t process_ = process_number(); // the child of a process fork has no session
};

} // namespace corewise::detail
