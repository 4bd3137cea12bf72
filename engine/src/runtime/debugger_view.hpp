#pragma once

#include "books/suspended_table.hpp"
#include "queues/worker_queues.hpp"
#include "recording/recording.hpp"
#include "timers/timer_group.hpp"
#include "worker/worker_report.hpp"

#include <corewise/engine/suspended.hpp>
#include <corewise/policies/load_board.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

// The data that gdb/corewise.py reads in a stopped process, or in its core (docs/gdb.md). The script runs
// nothing in the process and needs no debug information: it finds the symbol `corewise_layouts`, which leads
// to the table of engines and says where the words are that it follows. From there on it reads memory.
//
// `debugger_layouts::version` rises when the script must follow something in another way. An offset that
// moves needs no new version, since the script reads the offsets.

namespace corewise::detail {

class shared;

/// The objects that a debugger reads for a seat.
struct debugger_seat {
  const worker_report* report = nullptr;
  const board_entry* entry = nullptr;
  const worker_queues* queues = nullptr;
  std::uint32_t group = 0;
};

/// The objects that a debugger reads for an engine. The table has it in the engine's entry while it lives.
struct debugger_view {
  /// Make it when the engine has its seats. Throws `std::bad_alloc`.
  explicit debugger_view(shared& of);
  debugger_view(const debugger_view&) = delete;
  debugger_view& operator=(const debugger_view&) = delete;
  ~debugger_view();

  shared& engine;
  const debugger_layouts* layouts; // so that the linker keeps them
  const runtime* address;          // as `execution::engine` has it
  const char* name;                // of the profile
  const atomic<std::uint8_t>* stage;
  std::unique_ptr<debugger_seat[]> seats; // by worker
  std::size_t seat_count;
  timer_group* const* timers; // by group
  std::size_t timer_count;
  const suspended_table* suspended;
  std::array<const char*, wait_kinds> waits{}; // the names of the kinds
  std::ptrdiff_t execution;                    // of each thread, less what its thread pointer is

  // By these it tells coroutines from other tasks, and labels from other bound values.
  bool (*root_act)(task_header*, task_action);
  bool (*resumption_act)(task_header*, task_action);
  bool (*foreign_act)(task_header*, task_action);
  const char* label;
};

/// A number that the script looks up by its name: an offset, a size, a value.
struct debugger_number {
  char name[40];
  std::uint64_t value;
};

/// Where a debugger finds what. Its constant has C's name, so that the script finds it in each module that
/// has corewise in it.
struct debugger_layouts {
  static constexpr std::uint32_t current_version = 1;

  std::uint32_t version = current_version;
  std::uint32_t count = 0; // of numbers
  const std::array<atomic<const engine_registration*>, 256>* registrations = nullptr;
  std::array<debugger_number, 80> numbers{};

  static constexpr debugger_layouts make() noexcept;

 private:
  constexpr void add(const char* name, std::uint64_t value) noexcept;
  constexpr void add_coroutines() noexcept;
  constexpr void add_engine() noexcept;
  constexpr void add_waits() noexcept;
  constexpr void add_queues() noexcept;
};

} // namespace corewise::detail

extern "C" {
/// No code of the library reads it.
[[gnu::visibility("hidden")]] extern const corewise::detail::debugger_layouts corewise_layouts;
}
