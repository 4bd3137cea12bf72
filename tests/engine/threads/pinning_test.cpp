#include "small_engine.hpp"

#include <corewise/topology/binding.hpp>

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

/// Returns the CPUs that each worker's thread may run on, asked on the worker itself.
std::vector<cpu_set> affinities(engine& e) {
  std::vector<cpu_set> out(e.workers().size());
  for (const worker_place& p : e.workers().workers())
    CHECK(e.submit([&out, p] { out[p.id.value] = this_thread_affinity(); }, {.worker = p.id}) ==
          submit_result::accepted);
  e.drain();
  return out;
}

profile pinned(pin_to where) {
  profile p;
  p.workers.pin = where;
  p.steal.policy = "none"; // so that each task runs where it was sent
  return p;
}

/// Returns the name of a thread of this process, as `top` and `ps` show it.
std::string name_of(pid_t thread) {
  std::string name;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/comm"), name);
  return name;
}

} // namespace

TEST_CASE("pinning: `auto` and `group` pin a worker to the CPUs of its group") {
  for (const pin_to where : {pin_to::automatic, pin_to::group}) {
    engine e(pinned(where));
    const auto found = affinities(e);
    for (const worker_place& p : e.workers().workers()) CHECK(found[p.id.value] == e.groups()[p.group].cpus);
  }
}

TEST_CASE("pinning: `core` pins a worker to its core, and `none` does not pin it") {
  {
    engine e(pinned(pin_to::core));
    const auto found = affinities(e);
    for (const worker_place& p : e.workers().workers())
      CHECK(found[p.id.value] == e.machine().cores()[p.core].cpus);
  }
  engine e(pinned(pin_to::none));
  for (const cpu_set& found : affinities(e)) CHECK(found == this_thread_affinity());
}

TEST_CASE("pinning: a spare thread that takes a seat is pinned as well, from any seat that it had before") {
  for (const pin_to where : {pin_to::automatic, pin_to::group, pin_to::core}) {
    engine e(pinned(where));
    // Under load a call may be over before a spare thread has come.
    for (int round = 0; e.metrics().total().taken_seats < 5; ++round) {
      REQUIRE(round < 500);
      std::vector<cpu_set> found(e.workers().size());
      for (const worker_place& p : e.workers().workers()) {
        const auto behind = [&found, p] { found[p.id.value] = this_thread_affinity(); };
        const auto blocks = [&e, behind, p] {
          if (e.submit(behind, {.worker = p.id}) != submit_result::accepted) std::abort();
          blocking([] { std::this_thread::sleep_for(std::chrono::milliseconds{5}); });
        };
        REQUIRE(e.submit(blocks, {.worker = p.id}) == submit_result::accepted);
      }
      e.drain();
      for (const worker_place& p : e.workers().workers())
        CHECK(found[p.id.value] ==
              (where == pin_to::core ? e.machine().cores()[p.core].cpus : e.groups()[p.group].cpus));
    }
  }
}

TEST_CASE("pinning: threads are named after the profile and their group, or their worker") {
  profile p = pinned(pin_to::none);
  p.workers.total = 2;
  p.steal.policy = "none"; // a task stays with the worker that its hint names
  const auto name_of_worker = [&](std::uint32_t w) {
    engine e(p);
    std::string name(16, '\0');
    CHECK(e.submit([&] { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); },
                   {.worker = worker_id{w}}) == submit_result::accepted);
    e.drain();
    return name.substr(0, name.find('\0'));
  };
  CHECK(name_of_worker(0) == "corewise/g0");
  p.debug.thread_names = thread_naming::worker;
  CHECK(name_of_worker(1) == "corewise/g0w1");
  p.name = "a-server-with-a-long-name";
  CHECK(name_of_worker(0) == "a-server-w/g0w0");
}

TEST_CASE("pinning: a spare thread keeps the name of its last seat until it takes another seat") {
  for (const thread_naming naming : {thread_naming::group, thread_naming::worker}) {
    profile p = two_package_profile(1);
    p.steal.policy = "none";
    p.debug.thread_names = naming;
    engine e(p);
    const auto name_on = [&](std::uint32_t w) {
      const std::string group = "corewise/g" + std::to_string(w); // each group has one worker
      return naming == thread_naming::group ? group : group + "w" + std::to_string(w);
    };
    // In turns the two workers lend their seats, each until another thread has taken the seat. The lender is spare then, and
    // soon takes the other one's.
    std::map<pid_t, std::set<std::uint32_t>> sat;
    const auto sat_on_both = [&] {
      return std::ranges::any_of(sat, [](const auto& thread) { return thread.second.size() == 2; });
    };
    for (std::uint32_t round = 0; !sat_on_both(); ++round) {
      REQUIRE(round < 500);
      const std::uint32_t w = round % 2;
      pid_t lender = 0;
      pid_t taker = 0;
      gate taken;
      taken.open();
      REQUIRE(e.submit(
                  [&] {
                    lender = ::gettid();
                    const auto takes = [&] {
                      taker = ::gettid();
                      CHECK(name_of(taker) == name_on(w));
                      taken.pass();
                    };
                    if (e.submit(takes, {.worker = worker_id{w}}) != submit_result::accepted) std::abort();
                    blocking([&] { taken.wait_for(1); });
                  },
                  {.worker = worker_id{w}}) == submit_result::accepted);
      e.drain();
      CHECK(lender != taker);
      sat[lender].insert(w);
      sat[taker].insert(w);
      CHECK(name_of(lender) == name_on(w));
    }
  }
}

TEST_CASE("pinning: a second engine on the same CPUs warns and names them") {
  engine first(pinned(pin_to::automatic));
  CHECK(first.warnings().empty());
  engine second(pinned(pin_to::automatic));
  REQUIRE(second.warnings().size() == 1);
  CHECK(second.warnings()[0].find(first.machine().cpus().to_string()) != std::string::npos);
  profile strict = pinned(pin_to::automatic);
  strict.strict = true;
  CHECK_THROWS_AS(engine{strict}, std::runtime_error);
}

TEST_CASE("pinning: an engine for a described machine runs all workers unpinned, and warns once") {
  engine e(two_package_profile(2));
  CHECK(e.warnings().size() == 1);
  CHECK(e.workers().size() == 4);
  for (const cpu_set& found : affinities(e)) CHECK(found == this_thread_affinity());
}
