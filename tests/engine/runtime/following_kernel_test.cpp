// Tests of an engine to which the kernel itself gives less and more, each in a process of its own.

#include "affinity.hpp"
#include "child_process.hpp"
#include "control_group.hpp"
#include "following.hpp"
#include "refused_call.hpp"
#include "reloading.hpp"
#include "threads/calls_for_speed.hpp"
#include "threads/used.hpp"
#include "within.hpp"

#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// A profile for this machine, with automatic numbers. The engine looks only when it is told to.
profile waiting_here() {
  profile p;
  p.topology.follow = {follow_setting::mode::fixed, 1h};
  p.topology.groups.group_by = domain_kind::machine;
  return p;
}

/// Calls `f(want)` in a child process. `want(holds, what)` says what is not as it should be, and then the test fails.
template <class F> void check_in_child(const F& f) {
  const pid_t child = child_that([&] {
    bool right = true;
    f([&](bool holds, const char* what) {
      if (!holds) std::fprintf(stderr, "not so: %s\n", what);
      right = right && holds;
    });
    std::_Exit(right ? 0 : 1);
  });
  CHECK(exit_status(child) == 0);
}

/// Does so with a cpuset of the child's own, which it has not entered yet: `f(group, all CPUs, want)`. Skips the test where there
/// can be none.
template <class F> void check_in_cpuset(const F& f) {
  const control_group group("cpuset");
  const cpu_set all = this_thread_affinity();
  if (!group.why_not().empty() || all.size() < 2) {
    MESSAGE("skipped: " << (group.why_not().empty() ? "one CPU" : group.why_not()));
    return;
  }
  check_in_child([&](const auto& want) { f(group, all, want); });
}

/// Does so in a group of the child's own with a quota of that many CPUs: `f(group, want)`. Skips the test where there can be none.
template <class F> void check_in_quota(double cpus, const F& f) {
  const control_group group("cpu");
  if (!group.why_not().empty() || !group.quota(cpus) || this_thread_affinity().size() < 2) {
    MESSAGE("skipped: " << (group.why_not().empty() ? "one CPU, or no quota can be set" : group.why_not()));
    return;
  }
  check_in_child([&](const auto& want) {
    want(group.enter(), "the process enters the group");
    f(group, want);
  });
}

/// Returns whether the worker that runs a task, which may be any, is tied to what is in `allowed` of its core; or to these, if
/// its core has none of them.
bool is_tied(engine& e, const cpu_set& allowed, const hint& wish = no_hint) {
  const auto looks = [&] {
    const worker_place& place = e.workers()[*e.this_worker()];
    const cpu_set own = e.machine().cores()[place.core].cpus & allowed;
    return this_thread_affinity() == (own.empty() ? allowed : own);
  };
  return e.run(looks, wish).get();
}

/// Returns whether the last change that the engine has seen is that one of its CPUs.
bool has_seen(const engine& e, const cpu_set& now, const cpu_set& before) {
  const std::string text = " " + now.to_string() + ", before " + before.to_string() + ";";
  return e.metrics().last_machine_change.find(text) != std::string::npos;
}

} // namespace

TEST_CASE(
    "following: the kernel takes a CPU from the process and gives it back, and threads are pinned again") {
  const cpu_set all = this_thread_affinity();
  if (all.size() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  check_in_child([&](const auto& want) {
    profile p = waiting_here();
    p.workers.pin = pin_to::core; // not what the test sets
    engine e(p);
    const auto workers = active_workers(e);
    steady_load load(e);
    begin_supervisor(e); // one that begins later has the mask of the start
    want(!e.refresh(), "nothing has changed");
    cpu_set one;
    one.insert(all.first());
    set_affinity_of_all_threads(one);
    want(within(10s, [&] { return e.refresh() || active_workers(e) < workers; }), "a change is seen");
    want(active_workers(e) < workers || workers == 1, "a worker retires");
    want(is_tied(e, one), "a worker is tied to what is left");
    set_affinity_of_all_threads(all);
    static_cast<void>(e.refresh());
    want(active_workers(e) == workers, "all are back");
    for (int i = 0; i < 100; ++i) want(is_tied(e, all), "each is tied to its core");
    want(load.ended(), "no task is lost");
  });
}

TEST_CASE("following: under load the kernel's quota falls to 2%, is lifted, and changes again and again") {
  check_in_quota(1, [](const control_group& group, const auto& want) {
    engine e(waiting_here());
    const std::size_t all = e.workers().size(); // it begins with one of them
    steady_load load(e);
    for (const double quota : {0.02, -1.0, 0.5, 2.0, 0.3}) {
      want(group.quota(quota), "the kernel takes the quota");
      const std::optional<machine_change> c = e.refresh();
      const std::uint64_t wanted = quota < 0 ? all : std::min(all, quota >= 2 ? std::size_t{2} : 1);
      want(c && c->workers_now == wanted,
           ("a quota of " + std::to_string(quota) + ": " + std::to_string(wanted) + " workers").c_str());
    }
    want(group.quota(-1), "the kernel lifts the quota");
    want(load.ended(), "no task is lost");
  });
}

TEST_CASE("following: under load the kernel's quota changes each second, and the engine follows by itself") {
  check_in_quota(2, [](const control_group& group, const auto& want) {
    profile p = waiting_here();
    p.topology.follow.fixed = 100ms;
    engine e(p);
    const auto all = active_workers(e);
    steady_load load(e);
    auto next = std::chrono::steady_clock::now();
    for (const double quota : {0.5, 2.0, 0.4, -1.0, 0.3, 3.0}) { // a second each: never calm
      const bool less = quota > 0 && quota < 1;
      want(group.quota(quota), "the kernel takes the quota");
      const std::string seen = "quota " + std::to_string(quota).substr(0, 3) + " CPUs, before";
      if (less)
        want(within(10s, [&] { return e.metrics().last_machine_change.find(seen) != std::string::npos; }),
             "it is seen");
      const auto late = std::chrono::steady_clock::now() - next;
      if (late < 900ms) want(active_workers(e) == 1, "one worker is left");
      std::this_thread::sleep_until(next += 1s);
    }
    const auto lifted = std::chrono::steady_clock::now();
    want(group.quota(-1), "the kernel lifts the quota");
    want(within(20s, [&] { return active_workers(e) == all; }), "all workers are back");
    want(std::chrono::steady_clock::now() - lifted > 1900ms, "they come after the calm");
    want(within(10s, [&] { return e.metrics().machine_changes == 4; }),
         "no other change is in force meanwhile");
    want(load.ended(), "no task is lost");
  });
}

TEST_CASE("refused calls: one call after another is refused to engines under load, whose quota changes, and "
          "nothing is "
          "lost") {
  check_in_quota(2, [](const control_group& group, const auto& want) {
    profile p = waiting_here();
    p.workers.pin = pin_to::core;
    engine e(p);
    engine alone(small_profile(1)); // its queues have one taker, until others come (sole_taker.hpp)
    const auto all = active_workers(e);
    steady_load load(e);
    steady_load load_of_one(alone);
    for (const call_for_speed& c : calls_for_speed()) {
      if (!refuse_call(c.number)) break; // this kernel filters no calls
      for (const double quota : {0.5, -1.0}) {
        want(group.quota(quota), "the kernel takes the quota");
        static_cast<void>(e.refresh()); // ties the threads anew
        want(active_workers(e) == (quota > 0 ? 1 : all),
             ("without " + c.name + " the engine follows").c_str());
      }
      want(used(e) == 0 && used(alone) == 0, ("without " + c.name + " tasks run").c_str());
    }
    const std::vector<std::string> warnings = e.warnings();
    const auto is_said = [](const std::string& w) { return w.starts_with("workers are not pinned again"); };
    want(std::ranges::any_of(warnings, is_said), "that threads cannot be tied is said");
    want(load.ended() && load_of_one.ended(), "no task is lost");
    want(e.shutdown(10s).clean() && alone.shutdown(10s).clean(), "they end");
  });
}

TEST_CASE("refused calls: a supervisor that cannot be tied has the mask of a worker, which is not what the "
          "host allows") {
  const cpu_set all = this_thread_affinity();
  if (all.size() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  check_in_child([&](const auto& want) {
    profile p = waiting_here();
    p.workers.pin = pin_to::core;
    engine e(p);
    const auto workers = active_workers(e);
    if (!refuse_call(SYS_sched_setaffinity)) return;
    begin_supervisor(e); // a worker starts it
    want(!e.refresh() && active_workers(e) == workers, "nothing has changed");
  });
}

TEST_CASE("following: under load the kernel's cpuset falls to one CPU, to another one, and grows again") {
  check_in_cpuset([](const control_group& group, const cpu_set& all, const auto& want) {
    want(group.cpus(all) && group.enter(), "the process enters the group");
    profile p = waiting_here();
    p.topology.follow.fixed = 10ms;
    p.workers.pin = pin_to::core;
    engine e(p);
    const auto workers = active_workers(e);
    steady_load load(e);
    cpu_set before = all;
    for (const std::uint32_t cpu : {all.first(), all.to_vector().back()}) {
      cpu_set one;
      one.insert(cpu);
      want(group.cpus(one), "the kernel takes all CPUs but one");
      want(within(10s, [&] { return has_seen(e, one, before) && active_workers(e) == 1; }),
           "one worker is left");
      want(is_tied(e, one), "it is tied to that CPU");
      before = one;
    }
    const auto grown = std::chrono::steady_clock::now();
    want(group.cpus(all), "the kernel gives them back");
    want(within(20s, [&] { return active_workers(e) == workers; }), "all workers are back");
    want(workers == 1 || std::chrono::steady_clock::now() - grown > 1900ms, "they come after the calm");
    // The kernel gives a thread no more than it was tied to last, so the engine has to tie it anew.
    for (std::uint32_t w = 0; w < workers; ++w)
      want(within(10s, [&] { return is_tied(e, all, {.worker = worker_id{w}}); }),
           "each is tied to its core");
    want(load.ended(), "no task is lost");
  });
}

TEST_CASE("following: where the kernel adds CPUs to a cpuset in which an engine began, one line advises a "
          "restart") {
  check_in_cpuset([](const control_group& group, const cpu_set& all, const auto& want) {
    cpu_set one;
    one.insert(all.first());
    want(group.cpus(one) && group.enter(), "the process enters the group");
    engine e(waiting_here());
    begin_supervisor(e);
    want(!e.refresh() && active_workers(e) == 1, "one CPU is known");
    want(group.cpus(all), "the kernel adds CPUs");
    want(e.refresh().has_value() && active_workers(e) == 1, "the engine sees it, and has no room to grow");
    const std::vector<std::string> warnings = e.warnings();
    const std::string advice = "the host allows CPUs " + (all - one).to_string() + " too";
    want(std::ranges::count_if(warnings, [&](const std::string& w) { return w.starts_with(advice); }) == 1,
         "a restart is advised");
  });
}

TEST_CASE("following: an engine that uses a part of the machine sees no change where there is none") {
  const cpu_set all = this_thread_affinity();
  if (all.size() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  profile p = waiting_here();
  p.workers.pin = pin_to::group;
  p.topology.machine.use.cpus.emplace().insert(all.first());
  engine e(p);
  begin_supervisor(e);
  CHECK_FALSE(e.refresh());
}

TEST_CASE("following: workers that the program ties itself are not taken for a change of the host") {
  const cpu_set all = this_thread_affinity();
  if (all.size() < 2) {
    MESSAGE("skipped: one CPU");
    return;
  }
  profile p = waiting_here();
  p.workers.pin = pin_to::none;
  engine_hooks hooks;
  hooks.on_worker_start = [&](worker_id) {
    cpu_set one;
    one.insert(all.first());
    static_cast<void>(pin_this_thread(one));
  };
  engine e(p, hooks);
  const auto workers = active_workers(e);
  begin_supervisor(e); // it begins on a worker
  CHECK_FALSE(e.refresh());
  CHECK(active_workers(e) == workers);
}
