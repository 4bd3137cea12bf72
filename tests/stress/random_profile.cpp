#include "random_profile.hpp"

#include <corewise/policies/steal_policy.hpp>

#include <chrono>
#include <cstdio>

// Draws the settings of an engine: some of each sort, and small queues that fill up.

namespace corewise::tests {

using namespace std::chrono_literals;

namespace {

/// Describes a machine of several packages or a wide one, every second time with fast and slow cores side by
/// side.
void describe_machine(profile& p, placement_rng& rng) {
  struct machine {
    const char* text;
    const char* fast;
    const char* slow;
  };
  const machine made = any_of<machine>(rng, {{"pack:2 numa:1 l3:1 core:4 pu:1", "0-1,4-5", "2-3,6-7"},
                                             {"pack:2 numa:1 l3:2 core:2 pu:1", "0,2,4-5", "1,3,6-7"},
                                             {"pack:1 numa:1 l3:1 core:20 pu:1", "0-9", "10-19"},
                                             {"pack:4 numa:1 l3:1 core:1 pu:1", "0-1", "2-3"}});
  p.topology.machine.source = synthetic_source{made.text};
  if (one_in(rng, 2))
    p.topology.machine.kinds = {{*cpu_set::parse(made.fast), "P", 1024},
                                {*cpu_set::parse(made.slow), "E", 500}};
}

} // namespace

void set_any_rules(profile& p, placement_rng& rng, bool others_run_children) {
  p.dispatch.policy = any_of(rng, policy_names());
  do p.steal.policy = any_of(rng, steal_policy_names());
  while (others_run_children && p.steal.policy == "none");
  if (!p.queues.inbox) p.steal.policy = "none";
  p.queues.lifo_cap = any_of<std::uint32_t>(rng, {0, 1, 3});
  p.queues.lifo_age = 50us;
  if (!others_run_children && one_in(rng, 4)) p.queues.lifo_age.reset();
  p.queues.budget = any_of<std::uint32_t>(rng, {4, 128});
  p.idle.spin = std::chrono::microseconds{rng.below(40)};
  p.idle.wake = one_in(rng, 4) ? wake_order::lowest : wake_order::nearest;
  p.idle.searchers_per_mille = any_of<std::uint32_t>(rng, {1, 500, 1000});
  using mode = park_timeout_setting::mode;
  p.idle.park_timeout = {any_of<mode>(rng, {mode::adaptive, mode::never, mode::fixed}), 10ms};
  p.blocking.spares_max = any_of<std::uint32_t>(rng, {0, 2, 64});
  p.blocking.max_concurrent = any_of<std::uint32_t>(rng, {0, 0, 1, 4});
  p.blocking.keep_alive = any_of<std::chrono::nanoseconds>(rng, {1ms, 10s});
}

profile any_profile(placement_rng& rng, bool never_times_out) {
  profile p;
  p.workers.total = 2 + rng.below(31);
  p.workers.pin = pin_to::none;
  if (one_in(rng, 2)) describe_machine(p, rng);
  p.queues.local = any_of<std::uint32_t>(rng, {2, 8, 256});
  p.queues.inbox = any_of<std::uint32_t>(rng, {2, 16, 1024});
  if (one_in(rng, 8)) p.queues.inbox.reset();
  p.injection.scope =
      any_of<injection_scope>(rng, {injection_scope::group, injection_scope::group, injection_scope::engine});
  if (!p.queues.inbox && one_in(rng, 2)) p.injection.scope = injection_scope::none;
  p.queues.discipline = any_of<discipline>(rng, {discipline::standard, discipline::volt, discipline::tokio});
  set_any_rules(p, rng, false);
  if (never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  return p;
}

std::string to_text(const profile& p) {
  using mode = park_timeout_setting::mode;
  const auto* source = std::get_if<synthetic_source>(&p.topology.machine.source);
  char line[512];
  std::snprintf(line, sizeof line,
                "%u workers, %s, %s, %s, ring %u, inbox %u, lifo_cap %u%s, park_timeout %s, spares %u, "
                "max_concurrent %u",
                p.workers.total.value_or(0), source ? source->text.c_str() : "live",
                p.dispatch.policy.c_str(), p.steal.policy.c_str(), p.queues.local, p.queues.inbox.value_or(0),
                p.queues.lifo_cap, p.queues.lifo_age ? "" : " never aged",
                p.idle.park_timeout.kind == mode::never   ? "never"
                : p.idle.park_timeout.kind == mode::fixed ? "10ms"
                                                          : "adaptive",
                p.blocking.spares_max, p.blocking.max_concurrent);
  return line;
}

} // namespace corewise::tests
