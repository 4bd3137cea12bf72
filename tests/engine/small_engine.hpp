#pragma once

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <semaphore>

inline constexpr corewise::group_id first_group{0};
inline constexpr corewise::hint urgent{.run_as = corewise::task_class::latency};
inline constexpr corewise::hint patient{.run_as = corewise::task_class::background};

/// A profile for `workers` workers of the live machine. No worker is tied to a core, so that tests may run
/// side by side. The workers of a package are in one domain, however many caches it has, so that they take
/// single tasks from each other.
inline corewise::profile small_profile(std::uint32_t workers) {
  corewise::profile p;
  p.topology.groups.group_by = corewise::domain_kind::machine;
  p.workers.total = workers;
  p.workers.pin = corewise::pin_to::none;
  return p;
}

/// A machine of 2 packages of 4 cores each, described so that engines of tests have several groups.
inline corewise::profile two_package_profile(std::uint32_t per_group) {
  corewise::profile p = small_profile(0);
  p.workers.total.reset();
  p.workers.per_group = per_group;
  p.topology.machine.source = corewise::synthetic_source{"pack:2 numa:1 l3:1 core:4 pu:1"};
  p.blocking.stuck_after = std::chrono::hours{1}; // no package helps another because that one is slow
  return p;
}

/// Returns the engine's inside, for tests that look there. Runs a task.
inline corewise::runtime& inside_of(corewise::engine& e) {
  corewise::runtime* inside = nullptr;
  if (e.submit([&] { inside = corewise::detail::this_execution.engine; }) !=
      corewise::submit_result::accepted)
    std::abort();
  e.drain();
  return *inside;
}

/// Holds tasks until it is opened; counts the tasks that have arrived. A task that it has let through may
/// look at it once more: so declare it before the engine, or drain the engine before the gate goes. The same
/// holds for all that tasks wait for or notify.
class gate {
 public:
  void pass() {
    arrived_.fetch_add(1);
    arrived_.notify_all();
    open_.wait(false);
  }
  void wait_for(int arrivals) {
    for (int now = arrived_.load(); now < arrivals; now = arrived_.load()) arrived_.wait(now);
  }
  void open() {
    open_.store(true);
    open_.notify_all();
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<bool> open_{false};
};
