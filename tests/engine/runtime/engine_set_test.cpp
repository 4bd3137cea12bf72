// Tests of several engines that share a process.

#include "child_process.hpp"
#include "counts.hpp"
#include "reloading.hpp"
#include "topology/recorded_host.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

profile for_machine(const char* synthetic, machine_part per) {
  profile p;
  p.name = "daemon";
  p.topology.machine.source = synthetic_source{synthetic};
  p.engines.per = per;
  return p;
}

std::vector<std::string> names_of(const std::vector<profile>& profiles) {
  std::vector<std::string> names;
  for (const profile& p : profiles) names.push_back(p.name);
  return names;
}

using names = std::vector<std::string>;

} // namespace

TEST_CASE("engine set: each package, or each node, has a profile of its own") {
  const char* const machine = "pack:2 numa:2 l3:1 core:2 pu:1";
  CHECK(names_of(profiles_per_part(for_machine(machine, machine_part::machine))) == names{"daemon"});
  const auto packages = profiles_per_part(for_machine(machine, machine_part::package));
  REQUIRE(names_of(packages) == names{"daemon/p0", "daemon/p1"});
  CHECK(packages[1].topology.machine.use.packages == std::vector<std::uint32_t>{1});
  CHECK(packages[1].workers.quota_part == 0.5);
  CHECK(packages[1].engines.per == machine_part::machine);
  const auto nodes = profiles_per_part(for_machine(machine, machine_part::node));
  CHECK(names_of(nodes) == names{"daemon/n0", "daemon/n1", "daemon/n2", "daemon/n3"});
  CHECK(nodes[3].topology.machine.use.nodes == std::vector<std::uint32_t>{3});
}

TEST_CASE("engine set: a long name keeps the number of its part") {
  profile p = for_machine("pack:2 core:1 pu:1", machine_part::package);
  p.name = std::string(64, 'n');
  const engine_set engines(p);
  CHECK(engines.name(1) == std::string(61, 'n') + "/p1");
  p.name = std::string(60, 'n') + "\u00e9mm"; // which would be cut within a character
  CHECK(names_of(profiles_per_part(p))[1] == std::string(60, 'n') + "/p1");
}

TEST_CASE("engine set: a part that the profile leaves out gets no engine") {
  profile p = for_machine("pack:3 core:2 pu:1", machine_part::package);
  p.topology.machine.use.cpus = cpu_set::parse("2-5");
  CHECK(names_of(profiles_per_part(p)) == names{"daemon/p1", "daemon/p2"});
  p.topology.machine.use.packages = {1};
  CHECK(names_of(profiles_per_part(p)) == names{"daemon/p1"});
}

TEST_CASE("engine set: tasks stay in their engine, which has the workers of its package") {
  engine_set engines(for_machine("pack:2 l3:1 core:2 pu:1", machine_part::package));
  REQUIRE(engines.size() == 2);
  CHECK(engines.find("daemon/p1") == &engines[1]);
  CHECK(engines.find("daemon/p2") == nullptr);
  std::atomic<int> right{0};
  for (engine& e : engines) {
    CHECK(e.workers().size() == 2);
    for (int i = 0; i < 100; ++i)
      REQUIRE(e.submit([&] { right += e.this_worker() && &engines.local() == &e ? 1 : 0; }) ==
              submit_result::accepted);
  }
  const std::vector<shutdown_report> reports = engines.shutdown(10s);
  CHECK(right == 200);
  CHECK(reports.size() == 2);
  for (const shutdown_report& r : reports) CHECK(r.clean());
}

TEST_CASE("engine set: all engines end at the same time, so that one may wait for the end of the other") {
  engine_set engines(for_machine("pack:2 core:1 pu:1", machine_part::package));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    REQUIRE(engines[i].submit([](engine& other) -> task<> {
      while (!other.stop_token().stop_requested()) co_await sleep_for(1ms);
    }(engines[1 - i])) == submit_result::accepted);
  for (const shutdown_report& r : engines.shutdown(10s)) CHECK(r.clean());
}

TEST_CASE("engine set: the threads on which engines end block signals, as all threads of engines do") {
  const auto blocks = [](int signal) {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return ::sigismember(&mask, signal) == 1;
  };
  REQUIRE_FALSE(blocks(SIGTERM));
  engine_set engines(for_machine("pack:2 numa:1 l3:1 core:1 pu:1", machine_part::package));
  std::atomic<int> own{0};
  std::atomic<int> others{0};
  const auto here = std::this_thread::get_id();
  const auto look = [&] {
    if (std::this_thread::get_id() == here)
      own += blocks(SIGTERM) ? 100 : 1;
    else
      others += blocks(SIGTERM) && !blocks(SIGSEGV) ? 1 : 100;
  };
  const std::stop_callback first(engines[0].stop_token(), look);
  const std::stop_callback second(engines[1].stop_token(), look);
  for (const shutdown_report& r : engines.shutdown(10s)) CHECK(r.clean());
  CHECK(own == 1);
  CHECK(others == 1);
}

TEST_CASE("engine set: the deadline counts for all together, and a stuck task of one is told of") {
  struct state {
    std::atomic<bool> over{false};
    std::atomic<int> begun{0};
  };
  const auto shared = std::make_shared<state>(); // the threads outlive the engines
  {
    engine_set engines(for_machine("pack:3 core:1 pu:1", machine_part::package));
    for (engine& e : engines)
      REQUIRE(e.submit([shared] {
        ++shared->begun;
        while (!shared->over) std::this_thread::sleep_for(1ms);
      }) == submit_result::accepted);
    while (shared->begun != 3) std::this_thread::sleep_for(1ms);
    const auto called = std::chrono::steady_clock::now();
    for (const shutdown_report& r : engines.shutdown(2s)) CHECK(r.running.size() == 1);
    CHECK(std::chrono::steady_clock::now() - called < 5s); // one after another they would take 6
  }
  shared->over = true;
  while (shared.use_count() != 1) std::this_thread::sleep_for(1ms);
}

TEST_CASE("engine set: the last owner may be a task of it, which does not wait for the tasks of others") {
  auto engines = std::make_shared<engine_set>(for_machine("pack:3 core:1 pu:1", machine_part::package));
  const auto over = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> ended{false};
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
    REQUIRE((*engines)[i].submit([over] {
      while (!*over) std::this_thread::sleep_for(1ms);
    }) == submit_result::accepted);
  REQUIRE((*engines)[1].submit([last = engines, &ended]() mutable {
    while (last.use_count() != 1) std::this_thread::sleep_for(1ms);
    last.reset();
    ended = true;
  }) == submit_result::accepted);
  const auto called = std::chrono::steady_clock::now();
  engines.reset();
  while (!ended) std::this_thread::sleep_for(1ms);
  CHECK(std::chrono::steady_clock::now() - called < engine::destructor_deadline);
  *over = true;
  while (over.use_count() != 1) std::this_thread::sleep_for(1ms);
}

TEST_CASE("engine set: a task cannot shut the set down that runs it") {
  engine_set engines(for_machine("pack:2 core:1 pu:1", machine_part::package));
  CHECK_THROWS_AS(engines[1].run([&] { static_cast<void>(engines.shutdown(1s)); }).get(), std::logic_error);
  CHECK(engines[0].run([] { return 1; }).get() == 1); // all goes on
}

TEST_CASE("engine set: a profile for all is applied to all, or to none") {
  profile p = for_machine("pack:2 core:2 pu:1", machine_part::package);
  engine_set engines(p);
  p.queues.lifo_cap = 1;
  CHECK(engines.apply(p).applied());
  for (const engine& e : engines) CHECK(e.configuration().queues.lifo_cap == 1);
  CHECK(engines[1].configuration().name == "daemon/p1");

  profile other = p;
  other.queues.lifo_cap = 2;
  other.queues.local = 512; // needs a restart
  const apply_result refused = engines.apply(other);
  REQUIRE(refused.refused.size() == 1);
  CHECK(refused.refused[0].key == "queues.local");
  for (const engine& e : engines) CHECK(e.configuration().queues.lifo_cap == 1);
  CHECK(engines.configuration()->queues.lifo_cap == 1);

  other = p;
  other.engines.per = machine_part::machine;
  CHECK_FALSE(engines.apply(other).applied());
  other = p;
  other.topology.machine.use.packages = {0};
  CHECK_FALSE(engines.apply(other).applied());
}

TEST_CASE("engine set: where one engine refuses a profile the others get back what they had") {
  // The second package has one core less, so it has one seat less.
  profile p = for_machine("pack:2 core:4 pu:1", machine_part::package);
  p.topology.machine.use.cpus = cpu_set::parse("0-5");
  engine_set engines(p);
  REQUIRE(engines[0].workers().size() == 4);
  REQUIRE(engines[1].workers().size() == 2);
  p.workers.per_group = 3;
  const apply_result refused = engines.apply(p);
  REQUIRE(refused.refused.size() == 1);
  CHECK(refused.refused[0].why.find("daemon/p1: ") == 0);
  CHECK(active_workers(engines[0]) == 4);
  CHECK_FALSE(engines[0].configuration().workers.per_group.has_value());
}

TEST_CASE("engine set: profiles of one's own have names of their own, and are applied one by one") {
  profile p = for_machine("pack:1 core:1 pu:1", machine_part::machine);
  CHECK_THROWS_AS(engine_set(std::vector<profile>{}), std::invalid_argument);
  CHECK_THROWS_AS(engine_set(std::vector<profile>{p, p}), std::invalid_argument);
  profile q = p;
  q.name = "other";
  engine_set engines(std::vector<profile>{p, q});
  CHECK(engines.size() == 2);
  CHECK_FALSE(engines.configuration().has_value());
  CHECK_THROWS_AS(static_cast<void>(engines.apply(p)), std::logic_error);
}

TEST_CASE("engine set: a profile is applied to the parts that there are, whatever the caller may use now") {
  const recorded_host host(8, 4);
  profile p;
  p.engines.per = machine_part::package;
  p.topology.machine.source = live_source{host.root()};
  engine_set engines(p);
  host.allow("0-3");
  p.queues.lifo_cap = 1;
  CHECK(engines.apply(p).applied());
  for (const engine& e : engines) CHECK(e.configuration().queues.lifo_cap == 1);
}

TEST_CASE("engine set: a CPU quota is divided, and stays so when it changes and when a profile is applied") {
  const recorded_host host(8, 4);
  host.quota("400000 100000");
  profile p;
  p.engines.per = machine_part::package;
  p.topology.machine.source = live_source{host.root()};
  p.topology.follow = {follow_setting::mode::fixed, 1h};
  engine_set engines(p);
  REQUIRE(engines.size() == 2);
  for (const engine& e : engines) CHECK(active_workers(e) == 2);
  host.quota("200000 100000");
  for (engine& e : engines) {
    static_cast<void>(e.refresh());
    CHECK(active_workers(e) == 1);
  }
  host.quota("400000 100000");
  for (engine& e : engines) static_cast<void>(e.refresh());
  p.queues.lifo_cap = 1;
  CHECK(engines.apply(p).applied());
  for (const engine& e : engines) CHECK(active_workers(e) == 2);
  profile own = engines[0].configuration();
  own.workers.quota_part = 1; // as when it comes from a file
  CHECK(engines[0].apply(own).applied());
  CHECK(active_workers(engines[0]) == 2);
}

TEST_CASE("engine set: lines of the log begin with the engine's name, and one engine alone warns") {
  std::mutex mutex;
  std::vector<std::string> lines;
  engine_hooks hooks;
  hooks.log = [&](std::string_view line) {
    const std::scoped_lock lock(mutex);
    lines.emplace_back(line);
  };
  const profile p = for_machine("pack:2 core:1 pu:1", machine_part::package);
  const auto logged = [&](const char* part) {
    const std::scoped_lock lock(mutex);
    return std::ranges::any_of(lines, [&](const std::string& l) { return l.rfind(part, 0) == 0; });
  };
  {
    const engine_set engines(p, hooks);
    CHECK(logged("daemon/p0: the engine runs for a described machine"));
    CHECK(logged("daemon/p1: the engine runs for a described machine"));
  }
  CHECK_FALSE(logged("the profile asks for several engines"));
  const engine alone(p, hooks);
  CHECK(logged("the profile asks for several engines"));
}

TEST_CASE("engine set: metrics have the engine's name, and one scrape has each metric once") {
  engine_set engines =
      engines_per(machine_part::package, for_machine("pack:2 core:1 pu:1", machine_part::machine));
  engines[0].run([] {}).get();
  const std::vector<metrics_snapshot> all = engines.metrics();
  const std::string text = to_prometheus(all);
  CHECK(text.find("corewise_tasks_submitted_total{engine=\"daemon/p0\"} 1\n") != std::string::npos);
  CHECK(text.find("corewise_tasks_submitted_total{engine=\"daemon/p1\"} 0\n") != std::string::npos);
  CHECK(text.find("corewise_tasks_executed_total{engine=\"daemon/p0\",group=\"0\"} ") != std::string::npos);
  CHECK(text.find("\ncorewise_memory_blocks_held_bytes ") != std::string::npos); // of the process
  CHECK(text.find("# TYPE corewise_parks_total", text.find("# TYPE corewise_parks_total") + 1) ==
        std::string::npos);

  const engine_set one(for_machine("pack:2 core:1 pu:1", machine_part::machine));
  CHECK(to_prometheus(one.metrics()).find("engine=") == std::string::npos);
}

TEST_CASE("fork: the child has answers of an engine set at once, and makes a set of its own") {
  const profile p = for_machine("pack:2 core:1 pu:1", machine_part::package);
  engine_set engines(p);
  engines[0].run([] {}).get();
  const pid_t child = child_that([&] {
    ::alarm(60);
    bool right = engines.configuration()->name == "daemon" && !engines.apply(p).applied();
    for (const shutdown_report& r : engines.shutdown(10s)) right = right && r.clean();
    {
      engine_set own(p);
      right = right && own[1].run([] { return 7; }).get() == 7;
    }
    std::_Exit(right ? 0 : 1);
  });
  CHECK(exit_status(child) == 0);
  CHECK(engines[1].run([] { return 7; }).get() == 7);
}

TEST_CASE("fork: an engine set answers in the child, whatever other threads do with it at the fork") {
  constexpr int children = count_of(40, 150);
  const profile p = for_machine("pack:2 core:1 pu:1", machine_part::package);
  engine_set engines(p);
  std::atomic<bool> enough{false};
  std::vector<std::thread> busy;
  const auto repeat = [&](auto act) {
    busy.emplace_back([&enough, act] {
      while (!enough) act();
    });
  };
  repeat([&] { static_cast<void>(engines.apply(p)); });
  repeat([&] { static_cast<void>(engines.configuration()); });
  repeat([&] { static_cast<void>(engines.metrics()); });
  repeat([&] { static_cast<void>(engines.local().submit([] {})); });
  int failures = 0;
  for (int i = 0; i < children && failures == 0; ++i)
    failures += exit_status(child_that([&] {
                  ::alarm(20);
                  bool right = !engines.apply(p).applied() && engines.configuration().has_value();
                  right = right && engines.metrics().size() == 2 && engines.find("daemon/p1") == &engines[1];
                  right = right && engines.local().submit([] {}) == submit_result::stopping;
                  for (const shutdown_report& r : engines.shutdown(1s)) right = right && r.clean();
                  std::_Exit(right ? 0 : 1);
                })) != 0;
  CHECK(failures == 0);
  enough = true;
  for (std::thread& t : busy) t.join();
}
