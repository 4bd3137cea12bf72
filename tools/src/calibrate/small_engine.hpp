#pragma once

#include <corewise/engine/engine.hpp>

#include <semaphore>

namespace corewise::command {

/// A profile for an engine on these CPUs of this machine alone, with a worker tied to each. Tasks stay where
/// they are submitted, and only a thief moves them to another worker.
profile small_profile(const cpu_set& cpus);

/// Submits to an engine that accepts everything.
template <class F> void post(engine& e, F&& f, const hint& wish = no_hint) {
  if (e.submit(std::forward<F>(f), wish) != submit_result::accepted) std::terminate();
}

} // namespace corewise::command
