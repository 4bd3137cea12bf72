#pragma once

#include "engine/small_engine.hpp"
#include "made_machine.hpp"
#include "policies/situation.hpp"
#include "policies/steal_tour.hpp"

#include <functional>
#include <numeric>
#include <thread>

namespace corewise::tests {

/// Returns a profile of configs/, for this many workers of the live machine.
inline profile system_profile(const std::string& name, std::uint32_t workers) {
  profile p = load_profile(COREWISE_SOURCE_DIR "/configs/" + name + ".yaml");
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = workers;
  return p;
}

inline std::uint64_t stolen_of(const worker_metrics& w) {
  return std::accumulate(w.stolen.begin(), w.stolen.end(), std::uint64_t{0});
}

/// Each task submits the next, `depth` deep.
inline void chain(engine& e, int depth) {
  if (depth > 0 && e.submit([&e, depth] { chain(e, depth - 1); }) != submit_result::accepted) std::abort();
}

/// Submits `outside` tasks from outside, each of which submits `inside` more. Returns how many ran.
inline int load_with(engine& e, int outside, int inside) {
  std::atomic<int> ran{0};
  const auto leaf = [&] { ran.fetch_add(1, std::memory_order_relaxed); };
  const auto root = [&] {
    for (int i = 0; i < inside; ++i)
      if (e.submit(leaf) != submit_result::accepted) std::abort();
    leaf();
  };
  for (int i = 0; i < outside; ++i)
    if (e.submit(root) != submit_result::accepted) std::abort();
  e.drain();
  return ran;
}

/// Waits until all workers sleep.
inline void settle(const engine& e) {
  const auto asleep = [&] {
    const worker_metrics all = e.metrics().total();
    return all.parks - all.wakes;
  };
  while (asleep() != e.workers().size()) std::this_thread::yield();
}

} // namespace corewise::tests
