#pragma once

#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <set>

// Shared by the tests that apply another profile to a running engine.

namespace corewise::tests {

inline std::uint64_t active_workers(const engine& e) { return e.metrics().total().active; }

/// Submits this many tasks from outside, all at once. Returns the workers that run them.
inline std::set<std::uint32_t> workers_of(engine& e, int tasks, const hint& wish = {}) {
  std::mutex mutex;
  std::set<std::uint32_t> ran_on;
  for (int i = 0; i < tasks; ++i)
    REQUIRE(e.submit(
                [&] {
                  const std::uint32_t me = e.this_worker()->value;
                  const std::scoped_lock lock(mutex);
                  ran_on.insert(me);
                },
                wish) == submit_result::accepted);
  e.drain();
  return ran_on;
}

inline profile with_workers(profile p, std::uint32_t total) {
  p.workers.total = total;
  return p;
}

/// A profile like Nio's: no worker steals, inboxes are unbounded, and workers share no queue.
inline profile without_sharing(std::uint32_t workers) {
  profile p = small_profile(workers);
  p.steal.policy = "none";
  p.queues.inbox.reset();
  p.injection.scope = injection_scope::none;
  p.dispatch.policy = "lightest";
  return p;
}

} // namespace corewise::tests
