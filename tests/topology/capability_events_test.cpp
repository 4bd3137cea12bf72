#include "capability_messages.hpp"
#include "made_machine.hpp"

#include <corewise/topology/capability_events.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>

using namespace corewise;
using tests::capabilities;
using tests::event_of;
using tests::figures;
using tests::netlink_bytes;
using tests::thermal;

namespace {

figures read(const std::vector<std::byte>& messages) {
  figures seen;
  read_capabilities(messages, thermal, seen);
  return seen;
}

/// Two fast cores and two slow ones, of each kind a group.
locality_groups two_kinds() {
  tests::made_machine machine;
  machine.cores = {{"0", 0, 0, 0, 1}, {"1", 0, 0, 0, 1}, {"2", 0, 0, 0, 0}, {"3", 0, 0, 0, 0}};
  machine.capacities = {512, full_capacity};
  return locality_groups(build(machine), {});
}

} // namespace

TEST_CASE("capability events: the performance of each CPU is read") {
  const figures told{{0, 1000}, {1, 0}, {17, 1023}};
  CHECK(read(event_of(told).all()) == told);
  netlink_bytes two = event_of({{0, 700}, {1, 300}});
  const netlink_bytes second = event_of({{1, 200}, {2, 100}});
  std::vector<std::byte> both = two.all();
  both.insert(both.end(), second.all().begin(), second.all().end());
  CHECK(read(both) == figures{{0, 700}, {1, 200}, {2, 100}});
}

TEST_CASE("capability events: other messages, and figures that cannot be, are left out") {
  CHECK(read(netlink_bytes().message(thermal, THERMAL_GENL_EVENT_TZ_CREATE, capabilities({{0, 1}})).all())
            .empty());
  CHECK(read(netlink_bytes()
                 .message(thermal + 1, THERMAL_GENL_EVENT_CPU_CAPABILITY_CHANGE, capabilities({{0, 1}}))
                 .all())
            .empty());
  CHECK(read(event_of({{0, 1024}, {1u << 30, 5}, {2, 7}}).all()) == figures{{2, 7}});
  const netlink_bytes without_cpu =
      netlink_bytes().put(THERMAL_GENL_ATTR_CPU_CAPABILITY,
                          netlink_bytes().number(THERMAL_GENL_ATTR_CPU_CAPABILITY_PERFORMANCE, 9));
  CHECK(read(netlink_bytes().message(thermal, THERMAL_GENL_EVENT_CPU_CAPABILITY_CHANGE, without_cpu).all())
            .empty());
}

TEST_CASE("capability events: bytes that are cut off, or are no messages, do no harm") {
  const std::vector<std::byte> whole = event_of({{0, 1000}, {1, 500}}).all();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(read(part).empty()); // a message is whole, or it is none
  }
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (std::uint32_t n = 1 + random() % 8; n != 0; --n)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(random() % (bytes.size() + 1));
    for (const auto& [cpu, performance] : read(bytes)) CHECK(performance <= 1023);
  }
}

TEST_CASE("capability events: all that has come is read from the socket, without waiting") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0);
  capability_events events(ends[0], thermal);
  CHECK(events.read().empty());
  for (const figures& of : {figures{{0, 1000}, {1, 900}}, figures{{1, 300}}}) {
    const std::vector<std::byte> message = event_of(of).all();
    REQUIRE(::send(ends[1], message.data(), message.size(), 0) == static_cast<ssize_t>(message.size()));
  }
  CHECK(events.read() == figures{{0, 1000}, {1, 300}});
  CHECK(events.read() == figures{{0, 1000}, {1, 300}});
  ::close(ends[1]);
  CHECK(events.read().size() == 2);
}

TEST_CASE("capability events: after the kernel has lost some only what is told next counts") {
  // Netlink between two sockets of this process: of what the receiver's buffer cannot hold the kernel says it is lost.
  constexpr std::uint32_t group = 1;
  const int receiver = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_USERSOCK);
  const int sender = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
  REQUIRE(receiver >= 0);
  REQUIRE(sender >= 0);
  capability_events events(receiver, thermal);
  sockaddr_nl all{};
  all.nl_family = AF_NETLINK;
  all.nl_groups = group;
  const auto* const to = reinterpret_cast<const sockaddr*>(&all);
  constexpr int least = 1; // the kernel makes it as small as it may be
  REQUIRE(::setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &least, sizeof least) == 0);
  REQUIRE(::bind(receiver, to, sizeof all) == 0);
  const auto tell = [&](const figures& of) {
    const std::vector<std::byte> message = event_of(of).all();
    static_cast<void>(::sendto(sender, message.data(), message.size(), 0, to, sizeof all)); // which may fail
  };
  tell({{0, 700}});
  CHECK(events.read() == figures{{0, 700}});
  for (int i = 0; i < 1000; ++i) tell({{0, 600}, {1, 500}});
  CHECK(events.read().empty());
  tell({{1, 400}});
  CHECK(events.read() == figures{{1, 400}});
  ::close(sender);
}

TEST_CASE("capability events: a group's speed is what it has kept beside the others") {
  const locality_groups groups = two_kinds();
  using percents = std::vector<std::uint32_t>;
  CHECK(speeds_by({{0, 1000}, {1, 1000}, {2, 500}, {3, 500}}, groups) == percents{}); // as the machine says
  CHECK(speeds_by({{0, 600}, {1, 400}, {2, 500}, {3, 500}}, groups) == percents{50, 100});
  CHECK(speeds_by({{0, 1000}, {1, 1000}, {2, 250}, {3, 150}}, groups) == percents{100, 40});
  CHECK(speeds_by({{0, 1000}, {2, 0}}, groups) == percents{100, 5});
  CHECK(speeds_by({{0, 600}, {1, 600}}, groups) == percents{}); // of one group nothing was told
  CHECK(speeds_by({{0, 0}, {2, 0}}, groups) == percents{});
}

TEST_CASE("capability events: the kernel is asked, or says why not") {
  try {
    capability_events events = capability_events::subscribe();
    for (const auto& [cpu, performance] : events.read()) CHECK(performance <= 1023);
  } catch (const topology_error& e) {
    CHECK(std::string(e.what()).starts_with("topology.hfi: "));
    MESSAGE("skipped: " << e.what());
  }
}
