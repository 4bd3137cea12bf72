// Tests of engines that share a machine by agreement: in one process, and in several. The machine is a recorded one.

#include "child_process.hpp"
#include "following.hpp"
#include "new_file.hpp"
#include "reloading.hpp"
#include "topology/recorded_host.hpp"
#include "within.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

profile sharing(const recorded_host& host, const std::string& file, std::uint32_t weight = 100) {
  profile p;
  p.name = "w" + std::to_string(weight);
  p.topology.machine.source = live_source{host.root()};
  p.topology.follow = {follow_setting::mode::fixed, 20ms};
  p.sharing.file = file;
  p.sharing.weight = weight;
  return p;
}

/// Runs an engine with that profile in a process of its own, until the process is killed. Returns when it has its share.
pid_t daemon_with(const profile& p) {
  const signal_pipe begun;
  const pid_t child = child_that([&] {
    engine e(p);
    begun.tell();
    for (;;) ::pause();
  });
  begun.wait();
  return child;
}

} // namespace

TEST_CASE("sharing: two engines have half of the cores each, and one that is alone has all") {
  const recorded_host host(8);
  const new_file file;
  engine first(sharing(host, file.path()));
  CHECK(active_workers(first) == 8);
  const steady_load load(first);
  {
    const engine second(sharing(host, file.path(), 300));
    CHECK(active_workers(second) == 6); // from the start
    CHECK(within(10s, [&] { return active_workers(first) == 2; }));
  }
  CHECK(within(10s, [&] { return active_workers(first) == 8; }));
}

TEST_CASE("sharing: an engine that was shut down shares no more, though it is still there") {
  const new_file file;
  const recorded_host host(8);
  engine a(sharing(host, file.path()));
  engine b(sharing(host, file.path()));
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 4);
  CHECK(b.shutdown(10s).clean());
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 8);
}

TEST_CASE("sharing: a daemon that crashes gives its share back, and a new one takes it again") {
  const recorded_host host(8);
  const new_file file;
  profile p = sharing(host, file.path());
  p.topology.follow = {}; // as profiles have it
  engine e(p);
  const steady_load load(e);
  for (const int signal : {SIGKILL, SIGUSR1}) {
    const pid_t other = daemon_with(sharing(host, file.path()));
    CHECK(within(10s, [&] { return active_workers(e) == 4; }));
    end_by(signal, other);
    const auto ended = std::chrono::steady_clock::now();
    CHECK(within(10s, [&] { return active_workers(e) == 8; }));
    MESSAGE("given back after " << std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - ended)
                                       .count()
                                << " ms");
  }
}

TEST_CASE("sharing: a weight that a profile changes holds for all") {
  const recorded_host host(8);
  const new_file file;
  profile p = sharing(host, file.path());
  engine a(p);
  engine b(p);
  const steady_load load(a);
  const steady_load other(b);
  CHECK(within(10s, [&] { return active_workers(a) == 4 && active_workers(b) == 4; }));
  p.sharing.weight = 300;
  CHECK(b.apply(p).applied());
  CHECK(within(10s, [&] { return active_workers(a) == 2 && active_workers(b) == 6; }));
}

TEST_CASE("sharing: what the host takes from one is for the other") {
  const recorded_host host(8);
  const recorded_host smaller(8);
  const new_file file;
  engine a(sharing(host, file.path()));
  engine b(sharing(smaller, file.path()));
  const steady_load load(a);
  const steady_load other(b);
  CHECK(within(10s, [&] { return active_workers(a) == 4; }));
  smaller.cpuset("6-7");
  CHECK(within(10s, [&] { return active_workers(a) == 7 && active_workers(b) == 1; }));
}

TEST_CASE("sharing: engines of a set share their own package with the engine of another daemon there") {
  const recorded_host host(8, 4);
  const new_file file;
  profile p = sharing(host, file.path());
  p.engines.per = machine_part::package;
  engine_set engines(p);
  const steady_load first(engines[0]);
  const steady_load second(engines[1]);
  profile there = sharing(host, file.path());
  there.topology.machine.use.packages = {1};
  const pid_t other = daemon_with(there);
  CHECK(within(10s, [&] { return active_workers(engines[1]) == 2; }));
  CHECK(active_workers(engines[0]) == 4);
  end_by(SIGKILL, other);
  CHECK(within(10s, [&] { return active_workers(engines[1]) == 4; }));
}

TEST_CASE("sharing: a file that has been replaced is said once, and the share stays") {
  const recorded_host host(8);
  const new_file file;
  engine a(sharing(host, file.path()));
  const engine b(sharing(host, file.path()));
  std::filesystem::remove(file.path());
  static_cast<void>(a.refresh());
  static_cast<void>(a.refresh());
  std::size_t told = 0;
  for (const std::string& w : a.warnings()) told += w.find("leads to another file now") != std::string::npos;
  CHECK(told == 1);
  CHECK(active_workers(a) == 4);
}

TEST_CASE("sharing: a daemon whose part of the file is damaged is left out, and the log says so once") {
  const recorded_host host(8);
  const new_file file;
  engine a(sharing(host, file.path()));
  const pid_t other = daemon_with(sharing(host, file.path())); // without tasks: it does not look again
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 4);
  const pid_t vandal = child_that([&] { // its own process: to close the file would give up this one's locks
    std::fstream shares(file.path());
    shares.seekp(4096); // the second slot
    shares << "corewise share 1\nweight 1\n" << std::flush;
    std::_Exit(shares ? 0 : 1);
  });
  CHECK(exit_status(vandal) == 0);
  static_cast<void>(a.refresh());
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 8);
  std::size_t told = 0;
  for (const std::string& w : a.warnings()) told += w.find("what cannot be understood") != std::string::npos;
  CHECK(told == 1);
  end_by(SIGKILL, other);
}

TEST_CASE("sharing: a described machine is shared with no daemon, and says so") {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:1 core:4 pu:1"};
  const new_file file;
  p.sharing.file = file.path();
  const engine a(p);
  const engine b(p);
  CHECK(active_workers(a) == 4);
  CHECK(active_workers(b) == 4);
  const std::vector<std::string> warnings = a.warnings();
  CHECK(std::ranges::any_of(
      warnings, [](const std::string& w) { return w.find("sharing.file") != std::string::npos; }));
  CHECK_FALSE(std::filesystem::exists(file.path()));
}

TEST_CASE("sharing: engines of one process are not warned of each other") {
  const new_file file;
  profile p;
  p.topology.follow = {follow_setting::mode::fixed, 20ms};
  p.sharing.file = file.path();
  const engine one(p);
  const engine other(p);
  for (const std::string& warning : other.warnings())
    CHECK(warning.find("another engine of this process") == std::string::npos);
}

TEST_CASE("sharing: threads that are tied to no CPU share none, so the profile is refused") {
  const new_file file;
  profile p;
  p.sharing.file = file.path();
  p.workers.pin = pin_to::none;
  CHECK_THROWS_WITH_AS(engine{p}, doctest::Contains("workers.pin"), profile_error);
}

TEST_CASE("sharing: a file that cannot be used is an error at the start") {
  const recorded_host host(2);
  CHECK_THROWS_AS(engine(sharing(host, "/nowhere/at/all")), topology_error);
  profile p = sharing(host, "relative/path");
  CHECK_FALSE(check_profile(p).empty());
  p = sharing(host, "/run/shares");
  p.topology.follow.kind = follow_setting::mode::off;
  CHECK_FALSE(check_profile(p).empty());
}
