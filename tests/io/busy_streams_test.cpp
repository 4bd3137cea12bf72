#include "sockets.hpp"
#include "within.hpp"

#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Streams whose peers answer while their reader waits for its turn.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Sends back what comes, until the peer has closed.
task<> answer(io::unix_stream& peer) {
  char byte = 0;
  for (io::error_code ended;;) {
    const std::size_t bytes = co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(ended));
    if (bytes == 0) co_return;
    co_await peer.async_write_some(asio::buffer(&byte, bytes));
  }
}

} // namespace

TEST_CASE("busy streams: what comes while a reader waits behind other tasks is read without an event") {
  constexpr int rounds = 5'000;
  served_engine on(1);
  auto ends = make_pair(on.io);
  int got = 0;
  auto reads = [&]() -> task<> {
    char byte = 0;
    for (int i = 0; i < rounds; ++i)
      got += static_cast<int>(co_await ends.first.async_read_some(asio::buffer(&byte, 1)));
  };
  auto writes = [&]() -> task<> { // in the ring while the other one begins to read
    for (int i = 0; i < rounds; ++i) {
      while (got < i) co_await yield(); // else many bytes would come at once
      asio::write(ends.second, asio::buffer("x", 1));
    }
  };
  const io::service::counts before = on.io.count();
  auto both = [&]() -> task<> { co_await when_all(writes(), reads()); };
  SUBCASE("without a limit") {}
  SUBCASE("with a limit of its waits") { ends.first.limit_waits(10s, 0s); }
  on.engine.run(both()).get();
  CHECK(got == rounds);
  CHECK(on.io.count().events - before.events < rounds / 4);
  // The worker looks after each `io.batch` reads, so that those that wait for events have their turn.
  CHECK(on.io.count().polls - before.polls >= 3 * rounds / (4 * profile().io.batch));
}

TEST_CASE("busy streams: streams that are always busy do not keep others from their turn") {
  std::atomic<bool> over{false};
  std::atomic<int> rounds{0};
  served_engine on(1);
  std::vector<std::pair<io::unix_stream, io::unix_stream>> busy;
  auto keeps_asking = [&](io::unix_stream& peer) -> task<> {
    char byte = 'x';
    while (!over) {
      co_await peer.async_write_some(asio::buffer(&byte, 1));
      co_await peer.async_read_some(asio::buffer(&byte, 1));
      ++rounds;
    }
    peer.close();
  };
  for (int i = 0; i < 8; ++i) busy.push_back(make_pair(on.io));
  auto own = make_pair(on.io);
  std::vector<future<void>> running;
  for (auto& [client, server] : busy) {
    running.push_back(on.engine.run(answer(server)));
    running.push_back(on.engine.run(keeps_asking(client)));
  }
  running.push_back(on.engine.run(answer(own.second)));
  char byte = 'y';
  for (int i = 0; i < 50; ++i) { // from outside, so each read waits for an event
    asio::write(own.first, asio::buffer(&byte, 1));
    CHECK(asio::read(own.first, asio::buffer(&byte, 1)) == 1);
  }
  over = true;
  own.first.close();
  for (future<void>& f : running) f.get();
  CHECK(rounds > 0);
}
