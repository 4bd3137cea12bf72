#include "sockets.hpp"

#include <corewise/engine/event.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/io/resolve.hpp>

#ifdef COREWISE_STANDALONE_ASIO
#include <asio/experimental/as_tuple.hpp>
#else
#include <boost/asio/experimental/as_tuple.hpp>
#endif

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using steady_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                                asio::wait_traits<std::chrono::steady_clock>, io::executor>;

task<> ask(io::service& io, tcp::endpoint to, int rounds) {
  io::tcp_stream peer(io.local());
  co_await peer.async_connect(to, io::use_task);
  const std::string question = "how do you do?";
  std::string answer(question.size(), '\0');
  for (int i = 0; i < rounds; ++i) {
    co_await asio::async_write(peer, asio::buffer(question), io::use_task);
    CHECK(co_await asio::async_read(peer, asio::buffer(answer), io::use_task) == question.size());
    CHECK(answer == question);
  }
}

} // namespace

TEST_CASE("use_task: TCP") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    served_engine on(workers);
    const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
    std::vector<future<void>> clients;
    for (int i = 0; i < 20; ++i)
      clients.push_back(on.engine.run(ask(on.io, on_loopback(server.port()), 100)));
    for (auto& c : clients) c.get();
  }
}

TEST_CASE("use_task: what does not end at once, and more than a buffer holds") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  std::string sent(3'000'000, 'x');
  for (std::size_t i = 0; i < sent.size(); i += 7) sent[i] = static_cast<char>(i);
  std::string got(sent.size(), '\0');
  on.engine
      .run([&]() -> task<> {
        co_await when_all(
            [](io::unix_stream& s, std::string& from) -> task<> {
              CHECK(co_await asio::async_write(s, asio::buffer(from), io::use_task) == from.size());
            }(ends.first, sent),
            [](io::unix_stream& s, std::string& to) -> task<> {
              CHECK(co_await asio::async_read(s, asio::buffer(to), io::use_task) == to.size());
            }(ends.second, got));
      })
      .get();
  CHECK(got == sent);
}

TEST_CASE("use_task: an error is thrown, or goes where it is wanted") {
  served_engine on(2);
  on.engine
      .run([&]() -> task<> {
        auto ends = make_pair(on.io);
        ends.second.close();
        char byte = 0;
        CHECK_THROWS_AS(co_await ends.first.async_read_some(asio::buffer(&byte, 1), io::use_task),
                        io::system_error);
        io::error_code why;
        CHECK(co_await ends.first.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why)) == 0);
        CHECK(why == asio::error::eof);
        const auto [error, bytes] = co_await ends.first.async_read_some(
            asio::buffer(&byte, 1), asio::experimental::as_tuple(io::use_task));
        CHECK(error == asio::error::eof);
        CHECK(bytes == 0);
        io::tcp_stream closed(on.io.local());
        co_await closed.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
        CHECK(why == asio::error::bad_descriptor);
        io::tcp_stream refused(on.io.local());
        CHECK_THROWS_AS(co_await refused.async_connect(on_loopback(1), io::use_task), io::system_error);
      })
      .get();
}

TEST_CASE("use_task: UDP, a pipe, a timer, a signal") {
  served_engine on(2);
  on.engine
      .run([&]() -> task<> {
        using udp = asio::ip::udp;
        asio::basic_datagram_socket<udp, io::executor> a(on.io.local(),
                                                         udp::endpoint(asio::ip::address_v4::loopback(), 0));
        asio::basic_datagram_socket<udp, io::executor> b(on.io.local(),
                                                         udp::endpoint(asio::ip::address_v4::loopback(), 0));
        CHECK(co_await a.async_send_to(asio::buffer("ping", 4), b.local_endpoint(), io::use_task) == 4);
        char bytes[16];
        udp::endpoint from;
        CHECK(co_await b.async_receive_from(asio::buffer(bytes), from, io::use_task) == 4);
        CHECK(from == a.local_endpoint());

        asio::basic_readable_pipe<io::executor> out(on.io.local());
        asio::basic_writable_pipe<io::executor> in(on.io.local());
        asio::connect_pipe(out, in);
        CHECK(co_await asio::async_write(in, asio::buffer("pipe", 4), io::use_task) == 4);
        CHECK(co_await asio::async_read(out, asio::buffer(bytes, 4), io::use_task) == 4);

        steady_timer timer(on.io.local());
        const auto before = std::chrono::steady_clock::now();
        timer.expires_after(10ms);
        co_await timer.async_wait(io::use_task);
        CHECK(std::chrono::steady_clock::now() - before >= 10ms);

        asio::basic_signal_set<io::executor> signals(on.io.local(), SIGUSR1);
        ::kill(::getpid(), SIGUSR1); // not `raise`: the engine's threads block signals
        CHECK(co_await signals.async_wait(io::use_task) == SIGUSR1);
      })
      .get();
}

TEST_CASE("use_task: names are looked up in a blocking call") {
  served_engine on(1);
  const auto found = on.engine.run(io::resolve("localhost", "80")).get();
  REQUIRE_FALSE(found.empty());
  CHECK(found.front().port() == 80);
  CHECK_THROWS_AS(on.engine.run(io::resolve("no.such.host.invalid", "80")).get(), io::system_error);
}

TEST_CASE("use_task: a stop ends what waits") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  std::stop_source stop;
  auto reading = on.engine.run([&]() -> task<io::error_code> {
    char byte = 0;
    io::error_code why;
    co_await ends.first.async_read_some(asio::buffer(&byte, 1), io::use_task(stop.get_token()).into(why));
    co_return why;
  });
  while (on.io.operations() == 0) std::this_thread::yield();
  stop.request_stop();
  CHECK(reading.get() == asio::error::operation_aborted);
  CHECK(on.engine
            .run([&]() -> task<io::error_code> {
              char byte = 0;
              io::error_code why;
              co_await ends.first.async_read_some(asio::buffer(&byte, 1),
                                                  io::use_task(stop.get_token()).into(why));
              co_return why;
            })
            .get() == asio::error::operation_aborted);
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("use_task: a time limit ends what waits") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  on.engine
      .run([&]() -> task<> {
        char bytes[2];
        io::error_code why;
        co_await ends.first.async_read_some(asio::buffer(bytes), io::use_task.within(5ms).into(why));
        CHECK(why == asio::error::timed_out);
        const auto [late, none] = co_await asio::async_read(
            ends.first, asio::buffer(bytes), asio::experimental::as_tuple(io::use_task.within(5ms)));
        CHECK(late == asio::error::timed_out);
        for (int i = 0; i < 1000; ++i) {
          co_await ends.second.async_write_some(asio::buffer("x", 1));
          co_await ends.first.async_read_some(asio::buffer(bytes),
                                              io::use_task.within(i % 2 == 0 ? 10s : 0s).into(why));
          if (why == asio::error::timed_out) co_await ends.first.async_read_some(asio::buffer(bytes));
        }
      })
      .get();
  CHECK(on.engine.metrics().timers_pending == 0);
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("use_task: a stop at every moment of a read, a composed read, an accept and a timer") {
  served_engine on(4);
  constexpr int rounds = 400;
  std::atomic<int> aborted{0};
  for (int i = 0; i < rounds; ++i) {
    auto ends = make_pair(on.io);
    tcp::acceptor::rebind_executor<io::executor>::other acceptor(on.io.local(), on_loopback());
    std::stop_source stop;
    const auto token = stop.get_token();
    auto all = on.engine.run([&]() -> task<> {
      co_await when_all(
          [](io::unix_stream& s, std::stop_token t, std::atomic<int>& n) -> task<> {
            char bytes[8];
            io::error_code why;
            co_await asio::async_read(s, asio::buffer(bytes), io::use_task(t).into(why));
            if (why) ++n;
          }(ends.first, token, aborted),
          [](auto& a, std::stop_token t, std::atomic<int>& n) -> task<> {
            const auto [why, peer] = co_await a.async_accept(asio::experimental::as_tuple(io::use_task(t)));
            if (why) ++n;
          }(acceptor, token, aborted),
          [](io::service& io, std::stop_token t, std::atomic<int>& n) -> task<> {
            steady_timer timer(io.local());
            timer.expires_after(10s);
            io::error_code why;
            co_await timer.async_wait(io::use_task(t).into(why));
            if (why) ++n;
          }(on.io, token, aborted),
          [](io::unix_stream& s, std::stop_token t, std::atomic<int>& n) -> task<> {
            char byte = 0;
            io::error_code why;
            co_await s.async_read_some(asio::buffer(&byte, 1), io::use_task(t).into(why));
            if (why) ++n;
          }(ends.second, token, aborted));
    });
    const auto moment = std::chrono::steady_clock::now() + std::chrono::nanoseconds(50 * i);
    while (std::chrono::steady_clock::now() < moment) {
    }
    stop.request_stop();
    all.get();
  }
  CHECK(aborted == 4 * rounds);
  CHECK(comes_to_rest(on.io));
}

TEST_CASE("use_task: a reader and a writer of one stream in two tasks") {
  served_engine on(4);
  auto ends = make_pair(on.io);
  auto echoing = on.engine.run([&]() -> task<> {
    char bytes[100];
    for (int i = 0; i < 20'000;) {
      const std::size_t n = co_await ends.second.async_read_some(asio::buffer(bytes));
      co_await asio::async_write(ends.second, asio::buffer(bytes, n), io::use_task);
      i += static_cast<int>(n);
    }
  });
  auto writing = on.engine.run([&]() -> task<> {
    for (int i = 0; i < 20'000; ++i) co_await ends.first.async_write_some(asio::buffer("x", 1));
  });
  auto reading = on.engine.run([&]() -> task<std::size_t> {
    char bytes[64];
    std::size_t all = 0;
    while (all < 20'000) all += co_await ends.first.async_read_some(asio::buffer(bytes));
    co_return all;
  });
  CHECK(reading.get() == 20'000);
  writing.get();
  echoing.get();
}

TEST_CASE("use_task: an engine that ends drops what waits for events") {
  auto ends = std::optional<std::pair<io::unix_stream, io::unix_stream>>();
  served_engine on(2);
  ends.emplace(make_pair(on.io));
  auto reading = on.engine.run([&]() -> task<> {
    char byte = 0;
    co_await ends->first.async_read_some(asio::buffer(&byte, 1));
  });
  while (on.io.operations() == 0) std::this_thread::yield();
  const shutdown_report report = on.engine.shutdown(0s);
  CHECK(report.dropped == 1);
  REQUIRE(report.suspended.size() == 1);
  CHECK(report.suspended.front().kind == wait_kind::read);
  CHECK_THROWS_AS(reading.get(), not_run);
  ends.reset();
}

TEST_CASE("use_task: an operation of another context") {
  served_engine on(1);
  asio::io_context elsewhere;
  const auto work = asio::make_work_guard(elsewhere);
  std::thread runs([&] { elsewhere.run(); });
  on.engine
      .run([&]() -> task<> {
        asio::steady_timer timer(elsewhere);
        timer.expires_after(2ms);
        co_await timer.async_wait(io::use_task);
        CHECK(on.engine.this_worker().has_value());
        std::stop_source stop;
        timer.expires_after(10s);
        io::error_code why;
        const auto later = on.engine.after(2ms, [&] { stop.request_stop(); });
        co_await timer.async_wait(io::use_task(stop.get_token()).into(why));
        CHECK(why == asio::error::operation_aborted);
      })
      .get();
  elsewhere.stop();
  runs.join();
}

TEST_CASE("use_task: empty buffers before a full one are passed over") {
  served_engine on(1);
  auto ends = make_pair(on.io);
  on.engine
      .run([&]() -> task<> {
        char byte = 'x';
        char got = 0;
        std::vector<asio::const_buffer> out(20);
        out.emplace_back(&byte, 1);
        std::vector<asio::mutable_buffer> in(20);
        in.emplace_back(&got, 1);
        CHECK(co_await ends.second.async_write_some(out) == 1);
        CHECK(co_await ends.first.async_read_some(in) == 1);
        CHECK(got == 'x');
      })
      .get();
}

TEST_CASE("use_task: a stream that never has to wait gives way, and sends more buffers than go at once") {
  served_engine on(1);
  auto ends = make_pair(on.io);
  on.engine
      .run([&]() -> task<> {
        std::string sent;
        std::vector<asio::const_buffer> parts;
        for (int i = 0; i < 100; ++i) sent += static_cast<char>('a' + i % 26);
        for (char& byte : sent) parts.emplace_back(&byte, 1);
        CHECK(co_await asio::async_write(ends.second, parts, io::use_task) == sent.size());
        int read = 0;
        std::atomic<int> then{-1};
        CHECK(on.engine.submit([&] { then = read; }) == submit_result::accepted);
        for (const char byte : sent) {
          char got = 0;
          co_await ends.first.async_read_some(asio::buffer(&got, 1));
          CHECK(got == byte);
          ++read;
        }
        CHECK(then >= 0);
        CHECK(then <= 17);
      })
      .get();
}

TEST_CASE(
    "use_task: a socket with any executor, and handlers of others, wake a worker that sleeps for a timer") {
  served_engine on(1);
  std::stop_source stop;
  auto later = on.engine.run([&]() -> task<bool> { co_return co_await sleep_for(1h, stop.get_token()); });
  asio::local::stream_protocol::socket in(on.io.local());
  asio::local::stream_protocol::socket out(on.io.local());
  asio::local::connect_pair(in, out);
  char byte = 0;
  auto reading =
      on.engine.run([&]() -> task<> { co_await in.async_read_some(asio::buffer(&byte, 1), io::use_task); });
  while (on.io.operations() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(20ms); // the worker lies down
  asio::write(out, asio::buffer("x", 1));
  CHECK(reading.wait_for(10s));
  event happened; // set by a handler that runs where the event is found
  auto waiting = on.engine.run([&]() -> task<> { co_await happened.wait(); });
  in.async_read_some(asio::buffer(&byte, 1),
                     asio::bind_executor(asio::system_executor(), [&](auto...) { happened.set(); }));
  std::this_thread::sleep_for(20ms);
  asio::write(out, asio::buffer("x", 1));
  CHECK(waiting.wait_for(10s));
  stop.request_stop();
  CHECK_FALSE(later.get());
}
