#include "capability_messages.hpp"
#include "child_process.hpp"
#include "new_file.hpp"
#include "refused_call.hpp"
#include "runtime/host_follower.hpp"
#include "topology/recorded_host.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/topology/discovery.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace corewise;
using detail::host_follower;
using detail::monotonic;
using namespace std::chrono_literals;

namespace {

cpu_set cpus(const char* list) { return cpu_set::parse(list).value(); }

host_allowance allowing(const char* list, std::optional<double> quota = {}) {
  return {cpus(list), cpus("0-7"), quota};
}

/// Looks, and goes by what it is told to. Returns whether that is something new.
bool step(host_follower& f, const host_allowance& seen, monotonic::time_point now, bool at_once = false) {
  const std::optional<host_allowance> next = f.see(seen, now, at_once);
  if (next) f.go_by(*next);
  return next.has_value();
}

} // namespace

TEST_CASE("host follower: less holds at once, more when it has been more for 2 s") {
  host_follower f(allowing("0-3"));
  const monotonic::time_point t{1h};
  CHECK_FALSE(step(f, allowing("0-3"), t));
  CHECK(step(f, allowing("0-1", 1.5), t));
  CHECK(f.in_force() == allowing("0-1", 1.5));
  CHECK_FALSE(step(f, allowing("0-3", 3.0), t + 1s));
  CHECK_FALSE(step(f, allowing("0-3", 3.0), t + 2900ms));
  CHECK(step(f, allowing("0-3", 3.0), t + 3s));
  CHECK(f.in_force() == allowing("0-3", 3.0));
  CHECK_FALSE(step(f, allowing("0-3"), t + 4s)); // no quota at all is more, too
  CHECK(step(f, allowing("0-3"), t + 6s));
}

TEST_CASE("host follower: a change in which some goes and some comes waits only with what comes") {
  host_follower f(allowing("0-3", 2.0));
  const monotonic::time_point t{1h};
  CHECK(step(f, allowing("2-5", 4.0), t));
  CHECK(f.in_force() == allowing("2-3", 2.0));
  CHECK(step(f, allowing("2-5", 4.0), t + 2s));
  CHECK(f.in_force() == allowing("2-5", 4.0));
  CHECK(f.unknown() == cpus("4-5"));
}

TEST_CASE("host follower: what changes again and again stays at the least") {
  host_follower f(allowing("0-3", 2.0));
  const monotonic::time_point t{1h};
  for (int second = 0; second < 20; ++second) {
    static_cast<void>(
        step(f, allowing("0-3", second % 2 == 0 ? 0.5 : 2.0), t + std::chrono::seconds{second}));
    CHECK(f.in_force().quota_cpus == 0.5);
  }
}

TEST_CASE("host follower: a part that changes at each look holds no other part up") {
  host_allowance seen = allowing("0-1", 0.5);
  host_follower f(seen);
  const monotonic::time_point t{1h};
  for (int look = 0; look < 4; ++look) { // cores that are cooled down and heat up
    seen = allowing("0-3", 2.0);
    seen.speeds = {look % 2 == 0 ? 60U : 65U, 100U};
    static_cast<void>(step(f, seen, t + std::chrono::seconds{look}));
  }
  CHECK(f.in_force().cpus == seen.cpus);
  CHECK(f.in_force().quota_cpus == 2.0);
  CHECK(f.in_force().speeds == std::vector<std::uint32_t>{60, 100});
}

TEST_CASE("host follower: it does not wait when it is told not to, nor when no CPU of before is left") {
  host_follower f(allowing("0-1"));
  const monotonic::time_point t{1h};
  CHECK(step(f, allowing("0-3"), t, /*at_once=*/true));
  CHECK(f.in_force() == allowing("0-3"));
  CHECK(step(f, allowing("5-6"), t));
  CHECK(f.in_force() == allowing("5-6"));
}

TEST_CASE("host follower: a lower speed holds at once, a higher one after calm, each group for itself") {
  using speeds = std::vector<std::uint32_t>;
  host_follower f(allowing("0-3"));
  const monotonic::time_point t{1h};
  host_allowance seen = allowing("0-3");
  seen.speeds = {60, 100};
  CHECK(step(f, seen, t));
  CHECK(f.in_force().speeds == speeds{60, 100});
  seen.speeds = {80, 50};
  CHECK(step(f, seen, t + 1s));
  CHECK(f.in_force().speeds == speeds{60, 50});
  CHECK(step(f, seen, t + 3s));
  CHECK(f.in_force().speeds == speeds{80, 50});
  CHECK_FALSE(step(f, allowing("0-3"), t + 4s));
  CHECK(step(f, allowing("0-3"), t + 6s));
  CHECK(f.in_force().speeds.empty());
}

TEST_CASE("host follower: a memory node that goes counts at once, one that comes after calm") {
  host_allowance seen = allowing("0-3");
  seen.nodes = cpus("0-2");
  host_follower f(seen);
  const monotonic::time_point t{1h};
  seen.nodes = cpus("0,3");
  CHECK(step(f, seen, t));
  CHECK(f.in_force().nodes == cpus("0"));
  CHECK_FALSE(step(f, seen, t + 1s));
  CHECK(step(f, seen, t + 2s));
  CHECK(f.in_force().nodes == cpus("0,3"));
  CHECK(f.unknown_nodes() == cpus("3"));
  seen.nodes = cpus("1"); // none of before is left
  CHECK(step(f, seen, t + 3s));
  CHECK(f.in_force().nodes == cpus("1"));
}

TEST_CASE(
    "host follower: looks as often as an engine find within 3 s what a daemon had that crashes or ends") {
  const tests::recorded_host host(8);
  const tests::new_file file;
  profile p;
  p.topology.machine.source = live_source{host.root()};
  p.sharing.file = file.path();
  const topology machine = discover(p.topology.machine);
  const locality_groups groups(machine, {});
  host_follower f(p, machine, groups);
  monotonic::time_point now{1h};
  const auto look = [&] {
    if (const auto next = f.look(0, now, false, p.sharing)) f.go_by(*next);
    return f.in_force().cpus.size();
  };
  const tests::signal_pipe begun;
  const tests::signal_pipe to_end;
  for (const int signal : {SIGKILL, SIGUSR1, 0}) {
    const pid_t other = tests::child_that([&] {
      {
        const host_follower there(p, machine, groups);
        begun.tell();
        if (signal == 0) to_end.wait();
        while (signal != 0) ::pause();
      }
      std::_Exit(0);
    });
    begun.wait();
    CHECK(look() == 4);
    if (signal == 0) to_end.tell();
    tests::end_by(signal, other); // just after a look, so that the next one is as late as can be
    const monotonic::time_point gone = now;
    do now += follow_period_of(p).value();
    while (look() != 8 && now - gone < 1min);
    CHECK(now - gone <= 2500ms); // which leaves the engine half a second for the change
    CHECK(f.in_force().others == 0);
  }
}

TEST_CASE("host follower: a described machine has no limits to follow") {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:1 core:4 pu:1"};
  const topology machine = discover(p.topology.machine);
  const locality_groups groups(machine, {});
  host_follower f(p, machine, groups);
  CHECK_FALSE(f.look(0, monotonic::now(), true, p.sharing));
}

TEST_CASE("host follower: what the hardware says of the speed of cores holds, where no lower limit is set") {
  const tests::recorded_host host(4);
  for (int cpu = 0; cpu < 4; ++cpu) host.frequency(cpu, 3'000'000, cpu < 2 ? 3'000'000 : 2'400'000);
  profile p;
  p.topology.machine.source = live_source{host.root()};
  const topology machine = discover(p.topology.machine);
  const locality_groups groups(machine, {});
  REQUIRE(groups.size() == 2);
  host_follower f(p, machine, groups);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0);
  f.hear(capability_events(ends[0], tests::thermal));
  monotonic::time_point now{1h};
  const auto speeds_after = [&](const tests::figures& told) {
    const std::vector<std::byte> message = tests::event_of(told).all();
    REQUIRE(::send(ends[1], message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
    now += 10s;
    if (const auto next = f.look(0, now, true, {})) f.go_by(*next);
    return f.in_force().speeds;
  };
  using percents = std::vector<std::uint32_t>;
  CHECK(speeds_after({{0, 1000}, {1, 1000}}) == percents{100, 80}); // of the others nothing was told
  CHECK(speeds_after({{2, 1000}, {3, 1000}}) == percents{100, 80});
  CHECK(speeds_after({{0, 500}, {1, 500}}) == percents{50, 80});
  CHECK(speeds_after({{2, 100}, {3, 300}}) == percents{100, 40});
  ::close(ends[1]);
}

TEST_CASE(
    "host follower: an engine that is to hear of the hardware runs, also where there is nothing to hear") {
  const tests::recorded_host host(2);
  profile p;
  p.topology.machine.source = live_source{host.root()};
  p.topology.hfi = true;
  bool deaf = false; // the kernel has no such events
  try {
    static_cast<void>(capability_events::subscribe());
  } catch (const topology_error&) {
    deaf = true;
  }
  engine e(p);
  CHECK(e.run([] { return 7; }).get() == 7);
  CHECK(std::ranges::any_of(e.warnings(),
                            [](const std::string& w) { return w.starts_with("topology.hfi"); }) == deaf);
  p.strict = true;
  if (deaf) CHECK_THROWS_WITH_AS(engine{p}, doctest::Contains("topology.hfi"), topology_error);
  p.strict = false;
  // A kernel that refuses to be asked.
  CHECK(tests::wrong_without(SYS_socket, AF_NETLINK, [&] {
          const std::vector<std::string> told = engine(p).warnings();
          return std::ranges::count(told, "topology.hfi: there is no netlink: Operation not permitted") == 1
                     ? 0
                     : 1;
        }) == 0);
  p.topology.machine.source = synthetic_source{"core:2 pu:1"};
  const std::vector<std::string> warnings = engine(p).warnings();
  CHECK(std::ranges::any_of(warnings, [](const std::string& w) {
    return w.find("topology.hfi has no effect") != std::string::npos;
  }));
  CHECK_THROWS_WITH_AS(parse_profile("topology: {hfi: true, follow: off}"),
                       doctest::Contains("what the hardware says"), profile_error);
}
