// One allocation of a server and its clients fails, each in turn, the frames of coroutines among them: a connection may
// end, the engine and the listener go on.

#include "refused_block_calls.hpp"
#include "sockets.hpp"

#include <corewise/engine/this_task.hpp>
#include <corewise/io/on.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <new>
#include <semaphore>
#include <string>
#include <utility>

using namespace corewise;
using namespace std::chrono_literals;
using tests::before_refusal;
using tests::blocks_refused;
using tests::spared;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
// Asio's memory for handlers and cancellations.
extern "C" {
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
[[gnu::used]] void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  return tests::refused_now() ? nullptr : __real_aligned_alloc(alignment, size);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

/// Returns whether an echo comes back. Throws where there is no memory, or the connection breaks off.
task<bool> ask(io::service& io, std::uint16_t port) {
  std::string word = "hello";
  io::tcp_stream peer(io.local());
  co_await peer.async_connect(on_loopback(port), io::use_task.within(5s));
  co_await asio::async_write(peer, asio::buffer(word), io::use_task.within(5s));
  co_await asio::async_read(peer, asio::buffer(word), io::use_task.within(5s));
  co_return word == "hello";
}

auto descriptors() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

} // namespace

TEST_CASE("no memory: a connection for which there is none ends, and the next one is served") {
  spared = true;
  engine e(served_engine::profile_of(2));
  io::service io(e);
  io::listener server = io::listen(io, on_loopback(), {}, echo);
  int failed = 0;
  CHECK(e.run(ask(io, server.port())).get());
  for (int n = 1; n <= 60; ++n) {
    CAPTURE(n);
    before_refusal = n;
    bool right = true;
    try {
      right = e.run(ask(io, server.port())).get();
    } catch (const std::exception&) {
      ++failed;
    }
    before_refusal = 0;
    CHECK(right);
    CHECK(e.run(ask(io, server.port())).get());
  }
  CHECK(failed > 0);
  CHECK(blocks_refused > 0);
  CHECK(within(5s, [&] { return server.counts().open == 0; }));
  server.stop();
  server.wait_until_closed();
  CHECK(e.shutdown(10s).clean());
}

TEST_CASE("no memory: a service and a listener that cannot begin leave nothing open") {
  profile p = served_engine::profile_of(2);
  p.on_exception = exception_action::report; // workers may get the refusal
  int failed = 0;
  for (int n = 1; n <= 40; ++n) {
    CAPTURE(n);
    spared = true;
    const auto before = descriptors();
    {
      engine e(p);
      e.run([] {}).get();
      spared = false;
      before_refusal = n;
      try {
        io::service io(e);
        const io::listener server = io::listen(io, on_loopback(), {}, echo);
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      before_refusal = 0;
      spared = true;
      CHECK(e.run([] { return 7; }).get() == 7);
      CHECK(e.shutdown(10s).running.empty());
    }
    CHECK(descriptors() == before);
  }
  CHECK(failed > 10);
}

TEST_CASE("no memory: a call on an engine that has ended completes all the same") {
  spared = true;
  engine e(served_engine::profile_of(1));
  CHECK(e.shutdown(10s).clean());
  spared = false;
  int unrun = 0;
  for (int n = 1; n <= 12; ++n) {
    CAPTURE(n);
    asio::io_context context;
    bool begun = false;
    bool completed = false;
    const auto call = [&]() -> asio::awaitable<void> {
      begun = true;
      try {
        co_await io::on(e, [] {}, asio::use_awaitable);
      } catch (const not_run&) {
        ++unrun;
      } catch (const std::bad_alloc&) { // it could not begin
        before_refusal = 0;
      }
      completed = true;
    };
    before_refusal = n;
    try {
      asio::co_spawn(context, call, asio::detached);
      context.run();
    } catch (const std::bad_alloc&) {
      begun = completed;
    }
    before_refusal = 0;
    CHECK(completed == begun);
  }
  CHECK(unrun > 0);
}

TEST_CASE("no memory: what an executor completes runs all the same, without its name") {
  spared = true;
  engine e(served_engine::profile_of(1));
  io::service io(e);
  const auto tracked = asio::require(io.local(), asio::execution::outstanding_work.tracked);
  const auto named = asio::require(tracked, io::hinted({.name = "named"}));
  int ran[2] = {0, 0}; // without the name, with it
  for (int n = 1; n <= 6; ++n) {
    std::binary_semaphore ended{0};
    spared = false;
    before_refusal = n;
    named.execute([&] {
      ++ran[this_task::name() != nullptr ? 1 : 0];
      ended.release();
    });
    before_refusal = 0;
    spared = true;
    ended.acquire();
  }
  CHECK(ran[0] > 0);
  CHECK(ran[1] > 0);
  CHECK(ran[0] + ran[1] == 6);
}

TEST_CASE("no memory: a handler whose strand gets none is gone, and the engine and the sockets go on") {
  spared = true;
  engine e(served_engine::profile_of(1));
  io::service io(e);
  asio::local::stream_protocol::socket near(io.local());
  asio::local::stream_protocol::socket far(io.local());
  asio::local::connect_pair(near, far);
  const auto strand = asio::make_strand(io.local());
  int ran = 0;
  int gone = 0;
  for (int n = 1; n <= 6; ++n) {
    CAPTURE(n);
    char byte = 0;
    bool called = false;
    std::binary_semaphore left{0};
    struct release {
      void operator()(std::binary_semaphore* s) const { s->release(); }
    };
    std::unique_ptr<std::binary_semaphore, release> handler_lives(&left);
    auto handles = [&called, lives = std::move(handler_lives)](const io::error_code&, std::size_t) {
      called = true;
    };
    const std::pmr::polymorphic_allocator<> memory; // not the thread's, which may have a spare piece
    near.async_read_some(asio::buffer(&byte, 1),
                         asio::bind_executor(strand, asio::bind_allocator(memory, std::move(handles))));
    e.run([] {}).get(); // the worker waits for the socket
    before_refusal = n; // of the worker's
    asio::write(far, asio::buffer("x", 1));
    left.acquire();
    before_refusal = 0;
    CHECK(byte == 'x');
    ++(called ? ran : gone);
  }
  CHECK(ran > 0);
  CHECK(gone > 0);
  CHECK(e.run([] { return 7; }).get() == 7);
}
