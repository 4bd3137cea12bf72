#include "sockets.hpp"

#include <corewise/engine/run_blocking.hpp>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

// A server whose workers all block, or are far more than there are CPUs.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Asks the server for an echo, on the calling thread. Returns whether it comes in time.
bool is_answered(std::uint16_t port, std::chrono::seconds patience) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const tcp::endpoint to = on_loopback(port);
  const timeval time{patience.count(), 0};
  const bool answered = ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0 &&
                        ::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0 && answers(fd);
  ::close(fd);
  return answered;
}

enum class way : std::uint8_t { plain, coroutine };

/// Has every worker of an engine's only group block for the answer of the group's own server. Returns how many of twice as
/// many calls as workers were answered.
int answered_of_own_group(const profile& p, way by, std::chrono::seconds patience, bool& is_reported) {
  engine e(p);
  io::service io(e);
  const io::listener server = io::listen(io, on_loopback(), {}, echo);
  const std::uint16_t port = server.port();
  std::atomic<int> answered{0};
  std::atomic<int> over{0};
  const auto workers = static_cast<int>(e.workers().at_begin());
  std::atomic<int> begun{0};
  const auto ask = [&, port] {
    ++begun;
    while (begun < workers) std::this_thread::sleep_for(1ms); // then every worker blocks
    answered += is_answered(port, patience) ? 1 : 0;
  };
  const auto in_task = [&] {
    blocking(ask);
    ++over;
  };
  const auto in_coroutine = [&]() -> task<> {
    co_await run_blocking(ask);
    ++over;
  };
  const int calls = 2 * workers;
  for (int i = 0; i < calls; ++i)
    REQUIRE((by == way::plain ? e.submit(in_task) : e.submit(in_coroutine())) == submit_result::accepted);
  while (over < calls) {
    is_reported = is_reported || !e.health().ok();
    std::this_thread::sleep_for(10ms);
  }
  CHECK(within(10s, [&] { return server.counts().open == 0; }));
  return answered;
}

profile one_group(std::uint32_t workers) {
  profile p = served_engine::profile_of(workers);
  p.topology.machine.source = synthetic_source{"core:4 pu:1"};
  return p;
}

} // namespace

TEST_CASE("io: workers that all block for an answer of their own group's server get it") {
  for (const std::uint32_t workers : {1U, 2U})
    for (const way by : {way::plain, way::coroutine}) {
      CAPTURE(workers);
      CAPTURE(static_cast<int>(by));
      bool is_reported = false;
      CHECK(answered_of_own_group(one_group(workers), by, 20s, is_reported) == 2 * static_cast<int>(workers));
    }
}

TEST_CASE("io: without spare threads workers that all block for their own group's server are reported") {
  for (const std::uint32_t workers : {1U, 2U})
    for (const way by : {way::plain, way::coroutine}) {
      CAPTURE(workers);
      CAPTURE(static_cast<int>(by));
      profile p = one_group(workers);
      p.blocking.spares_max = 0;
      bool is_reported = false;
      CHECK(answered_of_own_group(p, by, 1s, is_reported) < 2 * static_cast<int>(workers)); // not the first
      CHECK(is_reported);
    }
}

TEST_CASE("io: a server with eight times as many workers as CPUs answers all") {
  served_engine on(8 * std::thread::hardware_concurrency());
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const tcp::endpoint to = on_loopback(server.port());
        bool works = ::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0;
        for (int n = 0; n < 20; ++n) works = works && answers(fd);
        wrong += works ? 0 : 1;
        ::close(fd);
      }
    });
  for (std::thread& c : clients) c.join();
  CHECK(wrong == 0);
  CHECK(within(10s, [&] { return server.counts().open == 0; }));
  CHECK(server.counts().accepted == 200);
}
