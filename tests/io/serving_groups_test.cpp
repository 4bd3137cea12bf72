#include "sanitized.hpp"
#include "sockets.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

// Which group's workers serve a connection.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Returns the group of the worker that runs the calling task.
group_id group_here(const engine& e) { return e.workers().workers()[e.this_worker()->value].group; }

} // namespace

TEST_CASE("serving groups: where a group's only worker is in a long task, an idle worker of another group "
          "serves its "
          "connections at once, and needs no theft") {
  const group_id first{0};
  int thefts = 0; // none, unless the worker comes by itself at that moment
  constexpr int all_rounds = 10;
  for (int rounds = 0; rounds < all_rounds;) {
    std::atomic<bool> over{false};
    std::atomic<bool> held_by_first{false};
    std::atomic<bool> holds{false};
    std::atomic<bool> served_by_other{false};
    engine e(two_packages()); // a new one knows of no task that it is long
    io::service io(e);
    std::pair<io::unix_stream, io::unix_stream> ends(io.of(first), io.of(first));
    asio::local::connect_pair(ends.first, ends.second);
    const auto reads = [&]() -> task<> {
      char byte = 0;
      co_await ends.first.async_read_some(asio::buffer(&byte, 1));
      served_by_other = group_here(e) != first;
    };
    future<void> reader = e.run(reads(), hint{.group = first});
    REQUIRE(within(30s, [&] { return io.count(first).operations == 1; }));
    future<void> holder = e.run(
        [&] {
          held_by_first = group_here(e) == first;
          holds = true;
          while (!over) std::this_thread::sleep_for(100us); // without `blocking`: it keeps its worker
        },
        hint{.worker = worker_id{0}});
    REQUIRE(within(30s, [&] { return holds.load(); }));
    const auto stolen = [&] {
      const auto by_level = e.metrics().total().stolen;
      return std::accumulate(by_level.begin(), by_level.end(), std::uint64_t{0});
    };
    const std::uint64_t before = stolen();
    REQUIRE(::send(ends.second.native_handle(), "x", 1, MSG_NOSIGNAL) == 1);
    CHECK(within(30s, [&] { return reader.ready(); }));
    over = true;
    reader.get();
    holder.get();
    if (!held_by_first) continue; // another worker has stolen it
    ++rounds;
    CHECK(served_by_other);
    thefts += stolen() != before ? 1 : 0;
  }
  CHECK(thefts <= all_rounds / 2);
}

TEST_CASE("serving groups: nearly all of what connections do is served in their groups") {
  profile p;
  p.workers.pin = pin_to::none;
  p.topology.machine.source = synthetic_source{"pack:2 numa:2 l3:1 core:2 pu:1"}; // a group for each node
  std::atomic<std::uint64_t> served{0};
  std::atomic<std::uint64_t> at_home{0};
  engine e(p);
  io::service io(e);
  const auto counts = [&](io::tcp_stream peer) -> task<> {
    const group_id home = peer.get_executor().group();
    for (char byte = 0;;) {
      io::error_code why;
      co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
      if (why) co_return;
      served.fetch_add(1);
      at_home.fetch_add(group_here(e) == home ? 1 : 0);
      co_await asio::async_write(peer, asio::buffer(&byte, 1), io::use_task.into(why));
      if (why) co_return;
    }
  };
  io::listen_options options;
  options.balance = io::listen_options::balancing::lightest;
  const io::listener server = io::listen(io, on_loopback(), options, counts);
  std::vector<int> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(connect_plainly(server.port()));
  for (int round = 0; round < 100; ++round)
    for (const int fd : clients) REQUIRE(answers(fd));
  for (const int fd : clients) ::close(fd);
  for (std::uint32_t g = 0; g < 4; ++g) CHECK(server.counts(group_id{g}).accepted == 10);
  CHECK(served == 4000);
  MESSAGE(at_home.load(), " of ", served.load(), " in their groups");
  // Mostly 99.0% to 100% where other programs want all CPUs (docs/figures/http.md), and at times 98.4%: the rest was ready
  // while no worker of the group had a CPU. So 99% would fail now and then. Sanitizers make that likely.
  CHECK((tests::sanitized || at_home * 100 >= served * 95));
}

TEST_CASE("serving groups: a worker of another package takes coroutines of connections when enough of them "
          "wait, and not before") {
  constexpr std::uint32_t more_than_wait =
      100'000; // also for tasks that take long, of which fewer are enough
  for (const std::uint32_t minimum : {more_than_wait, 2U}) {
    CAPTURE(minimum);
    profile p = two_packages();
    p.steal.minimum_at.cross_package = minimum;
    p.dispatch.weights.spill.cross_package = 2 * more_than_wait;
    p.blocking.stuck_after = std::chrono::hours{1}; // no domain stands still, whatever the system runs
    engine e(p);
    io::service io(e);
    const group_id first{0};
    constexpr int connections = 16;
    std::vector<std::pair<io::unix_stream, io::unix_stream>> ends;
    std::atomic<int> served{0};
    const auto serve = [&](io::unix_stream& peer) -> task<> {
      for (io::error_code why; !why;) {
        char byte = 0;
        co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
        std::this_thread::sleep_for(200us); // it keeps its worker, and the others wait behind it
        ++served;
      }
    };
    for (int i = 0; i < connections; ++i) {
      ends.emplace_back(io.of(first), io.of(first));
      asio::local::connect_pair(ends.back().first, ends.back().second);
    }
    std::vector<future<void>> serving;
    for (auto& pair : ends) serving.push_back(e.run([&] { return serve(pair.first); }, hint{.group = first}));
    const auto stolen = [&] {
      return e.metrics().total().stolen[static_cast<std::size_t>(level::cross_package)];
    };
    const auto ask_all = [&] {
      const int before = served;
      for (auto& pair : ends) REQUIRE(::send(pair.second.native_handle(), "x", 1, MSG_NOSIGNAL) == 1);
      REQUIRE(within(30s, [&] { return served == before + connections; }));
      return stolen() != 0;
    };
    if (minimum == more_than_wait) {
      for (int round = 0; round < 50; ++round) CHECK_FALSE(ask_all());
    } else {
      CHECK(within(30s, ask_all));
    }
    for (auto& pair : ends) pair.second.close();
    for (future<void>& f : serving) f.get();
  }
}
