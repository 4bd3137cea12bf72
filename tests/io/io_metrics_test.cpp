#include "sockets.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Adopts a socket that listens on the loopback. So connections go to the lightest group.
io::listen_options adopting_one() {
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  const tcp::endpoint at = on_loopback();
  REQUIRE(::bind(listening, at.data(), static_cast<socklen_t>(at.size())) == 0);
  REQUIRE(::listen(listening, 64) == 0);
  return {.adopted = {listening}};
}

} // namespace

TEST_CASE("io metrics: connections of all listeners count in their groups, also when the listener is gone") {
  engine e(two_packages());
  io::service io(e);
  const auto in_group = [&](std::uint32_t g) { return e.metrics().io.at(g).driver; };
  CHECK(e.metrics().io.size() == 2);
  {
    io::listen_options options = adopting_one();
    options.most_connections = 2;
    options.on_excess = io::listen_options::excess::refuse;
    io::listener server = io::listen(io, on_loopback(), options, echo);
    std::vector<int> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(connect_plainly(server.port()));
    CHECK(within(5s, [&] { return in_group(0).accepted == 1 && in_group(1).accepted == 1; }));
    clients.push_back(connect_plainly(server.port()));
    CHECK(within(5s, [&] { return io.count().refused == 1; }));
    CHECK(in_group(0).open == 1);
    CHECK(in_group(1).open == 1);
    CHECK(within(5s, [&] { return io.count().operations > 2; })); // both read, and the listener accepts
    for (const int fd : clients) ::close(fd);
    CHECK(within(5s, [&] { return io.count().open == 0; }));
    server.stop();
    server.wait_until_closed();
  }
  io::listener second = io::listen(io, on_loopback(), adopting_one(), echo);
  const int client = connect_plainly(second.port());
  CHECK(answers(client));
  const driver_counts all = e.metrics().io_total().driver;
  CHECK(all.accepted == 3);
  CHECK(all.refused == 1);
  CHECK(all.open == 1);
  CHECK(second.counts().accepted == 1);
  const std::string text = e.metrics().to_prometheus();
  const char* const other = second.counts(group_id{0}).accepted == 0 ? "0" : "1";
  CHECK(text.find("corewise_io_connections_accepted_total{group=\"" + std::string(other) + "\"} 1\n") !=
        std::string::npos);
  ::close(client);
}

TEST_CASE("io metrics: looks and events, and how long what was ready waited in the group that handles it") {
  profile p = two_packages();
  p.steal.policy = "none";
  engine e(p);
  io::service io(e);
  const io::listener server = io::listen(io, on_loopback(), adopting_one(), echo);
  int first = connect_plainly(server.port());
  REQUIRE(within(5s, [&] { return server.counts().accepted == 1; }));
  const bool is_in_first = server.counts(group_id{0}).open == 1;
  int second = connect_plainly(server.port());
  REQUIRE(within(5s, [&] { return server.counts().accepted == 2; }));
  if (!is_in_first) std::swap(first, second);
  REQUIRE(answers(first));
  REQUIRE(answers(second));
  const metrics_snapshot before = e.metrics();
  metrics_snapshot after;
  const auto samples_in = [&](std::size_t g) {
    return after.io.at(g).ready_waited.count() - before.io.at(g).ready_waited.count();
  };
  CHECK(within(30s, [&] { // now and then a request is there when it is awaited, so no event comes
    for (int i = 0; i < 500; ++i) REQUIRE(answers(second));
    after = e.metrics();
    return samples_in(1) > 10;
  }));
  CHECK(samples_in(0) == 0);
  const auto grown = [&](std::uint64_t driver_counts::* number) {
    return after.io.at(1).driver.*number - before.io.at(1).driver.*number;
  };
  CHECK(grown(&driver_counts::polls) > samples_in(1));
  CHECK(grown(&driver_counts::events) > samples_in(1));
  ::close(first);
  ::close(second);
}
