#pragma once

#include "recording/recording.hpp"

#include <corewise/engine/detail/task_chain.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/topology/groups.hpp>
#include <corewise/topology/ids.hpp>

#include <cstdint>

// Workers and tasks in recorded events.

namespace corewise::detail {

class worker;

/// How a word tells the kind of a task. In `event_code::begun` word 3 tells it, by the lowest two bits of the event's value;
/// the worker is above them.
enum class kind_word : std::uint8_t {
  act,    ///< it is the task's `act`, which says it; in no event
  resume, ///< it is the function that resumes the task's coroutine
  text,   ///< it is a mangled type
  none,
};

/// The kind that some tasks have in common: a word, and how it tells the kind.
struct task_kind {
  kind_word how = kind_word::none;
  std::uintptr_t word = 0;
};
/// Returns the kind of a task. Call from its thread before it runs.
task_kind kind_of(const task_header& t) noexcept;

/// Records an event of a worker that is none of a task. Call while `recording()`.
[[gnu::cold, gnu::noinline]] void record_worker(const worker& seat, event_code what,
                                                std::uint64_t more = 0) noexcept;
/// Records that the calling thread has stolen tasks. It runs the first one next.
[[gnu::cold, gnu::noinline]] void record_stolen(const task_chain& tasks, worker& victim,
                                                level distance) noexcept;
/// Records that a task is begun, with its kind, name and id. Call from its thread before it runs.
[[gnu::cold, gnu::noinline]] void record_begun(const task_header& t, engine_number of, worker_id on) noexcept;

} // namespace corewise::detail
