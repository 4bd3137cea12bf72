// Operations that end in unusual ways: after their engine, by a step that throws, by a stop between two steps.

#include "engine/fire_and_forget.hpp"
#include "sockets.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using steady_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                                asio::wait_traits<std::chrono::steady_clock>, io::executor>;

/// A composed operation of waits of no time, until one of them is cancelled. It does not ask whether it was cancelled, as
/// Beast's do not.
template <class Token> auto wait_for_ever(steady_timer& timer, Token&& token) {
  return asio::async_compose<Token, void(io::error_code)>(
      [&timer](auto& self, io::error_code why = {}) {
        if (why) return self.complete(why);
        timer.expires_after(0s);
        timer.async_wait(std::move(self));
      },
      token, timer);
}

/// A composed operation whose second step throws.
template <class Token> auto wait_and_throw(steady_timer& timer, Token&& token) {
  return asio::async_compose<Token, void(io::error_code)>(
      [&timer, begun = false](auto& self, io::error_code /*why*/ = {}) mutable {
        if (begun) throw std::runtime_error("a step");
        begun = true;
        timer.expires_after(1ms);
        timer.async_wait(std::move(self));
      },
      token, timer);
}

/// An operation of two parts: the first has begun when the second cannot begin.
template <class Token> auto begin_two(steady_timer& timer, Token&& token) {
  return asio::async_initiate<Token, void(io::error_code)>(
      [&timer](auto handler) {
        const auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        timer.expires_after(20ms);
        timer.async_wait([shared](io::error_code why) { std::move (*shared)(why); });
        throw std::runtime_error("a part");
      },
      token);
}

/// A composed operation that posts itself again and again.
template <class Token> auto post_often(steady_timer& timer, Token&& token) {
  return asio::async_compose<Token, void(io::error_code)>(
      [times = 0](auto& self, io::error_code /*why*/ = {}) mutable {
        if (++times == 200'000) return self.complete({});
        asio::post(std::move(self));
      },
      token, timer);
}

} // namespace

TEST_CASE("operation: one that posts itself often needs no stack") {
  served_engine on(2);
  on.engine
      .run([&]() -> task<> {
        steady_timer timer(on.io.local());
        co_await post_often(timer, io::use_task);
        io::error_code why;
        co_await post_often(timer, io::use_task.within(1h).into(why));
        CHECK(!why);
      })
      .get();
}

TEST_CASE("operation: a stop between two of its steps is not lost") {
  served_engine on(2);
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    steady_timer timer(on.io.local());
    auto waiting = on.engine.run([&]() -> task<> {
      io::error_code why;
      co_await wait_for_ever(timer, io::use_task(stop.get_token()).into(why));
      CHECK(why == asio::error::operation_aborted);
    });
    std::this_thread::sleep_for(1ms);
    stop.request_stop();
    waiting.get();
  }
}

TEST_CASE("operation: the end of its time is told as such, also where a stop comes afterwards") {
  served_engine on(1);
  asio::io_context elsewhere;
  asio::steady_timer timer(elsewhere, 1h);
  std::stop_source stop;
  auto waiting = on.engine.run([&]() -> task<> {
    io::error_code why;
    co_await timer.async_wait(io::use_task(stop.get_token()).within(1ms).into(why));
    CHECK(why == asio::error::timed_out);
  });
  CHECK(within(60s, [&] { // the time is over
    return on.engine.metrics().timers_fired != 0 && on.engine.dump().seats[0].state == seat_state::parked;
  }));
  stop.request_stop();
  elsewhere.run(); // the two, in this order
  waiting.get();
}

TEST_CASE("operation: where a part cannot begin, that comes out when the parts before it have ended") {
  served_engine on(2);
  steady_timer timer(on.io.local());
  const auto fails = [&]() -> task<bool> {
    try {
      co_await begin_two(timer, io::use_task);
    } catch (const std::runtime_error& e) {
      co_return std::string(e.what()) == "a part";
    }
    co_return false;
  };
  CHECK(on.engine.run(fails()).get());
}

TEST_CASE("operation: a coroutine that no engine runs does not hold the driver") {
  std::atomic<bool> seen{false};
  std::atomic<bool> over{false};
  served_engine on(2);
  steady_timer first(on.io.local());
  steady_timer second(on.io.local());
  const auto outside = [&]() -> fire_and_forget {
    first.expires_after(20ms);
    co_await first.async_wait(io::use_task);
    CHECK(within(60s, [&] { return seen.load(); })); // a worker looks for the other event
    over = true;
  };
  const auto inside = [&]() -> task<> {
    second.expires_after(60ms);
    co_await second.async_wait(io::use_task);
    seen = true;
  };
  outside();
  on.engine.run(inside()).get();
  CHECK(within(60s, [&] { return over.load(); }));
}

TEST_CASE("operation: what a step throws comes out where it is awaited") {
  served_engine on(2);
  steady_timer timer(on.io.local());
  const auto fails = [&](auto token) {
    auto waiting = on.engine.run([&, token]() -> task<> { co_await wait_and_throw(timer, token); });
    CHECK_THROWS_WITH_AS(waiting.get(), "a step", std::runtime_error);
  };
  fails(io::use_task);
  std::stop_source stop;
  fails(io::use_task(stop.get_token()));
  CHECK(comes_to_rest(on.io));
  CHECK(on.engine.shutdown(5s).clean());
}

TEST_CASE("operation: one of another context that ends after the engine touches nothing of it") {
  enum class ends { by_itself, by_its_context, by_a_stop };
  for (const ends how : {ends::by_itself, ends::by_its_context, ends::by_a_stop})
    for (int limits = 0; limits < 4; ++limits) { // by a stop, by a time, by both, by none
      CAPTURE(static_cast<int>(how));
      CAPTURE(limits);
      std::stop_source stop;
      std::optional<asio::io_context> elsewhere(std::in_place);
      std::optional<asio::steady_timer> timer(std::in_place, *elsewhere, 1h);
      {
        engine e(served_engine::profile_of(1));
        auto waiting = e.run([](asio::steady_timer& of, std::stop_token token, int limited) -> task<> {
          io::limited_use_task by;
          if ((limited & 1) != 0) by = by(token);
          if ((limited & 2) != 0) by = by.within(1h);
          limited == 0 ? co_await of.async_wait(io::use_task) : co_await of.async_wait(by);
        }(*timer, stop.get_token(), limits));
        while (e.dump().suspended.empty()) std::this_thread::yield();
        const shutdown_report report = e.shutdown(0s);
        CHECK(report.kept.size() == 1);
        CHECK_THROWS_AS(waiting.get(), not_run);
      }
      if (how == ends::by_a_stop) stop.request_stop();
      if (how == ends::by_its_context) {
        timer.reset();
        elsewhere.reset(); // the handler goes with it
        continue;
      }
      if (how == ends::by_itself || (limits & 1) == 0) timer->cancel();
      elsewhere->run(); // nothing is left to do for it
    }
}

TEST_CASE("operation: a cancellation that its context never runs holds nothing up") {
  served_engine on(1);
  for (const bool by_time : {false, true}) {
    std::stop_source stop;
    std::optional<asio::io_context> elsewhere(std::in_place);
    std::optional<asio::steady_timer> timer(std::in_place, *elsewhere, 1h);
    auto waiting = on.engine.run([&]() -> task<> {
      io::error_code why;
      const auto limited = by_time ? io::use_task.within(1ms) : io::use_task(stop.get_token());
      co_await timer->async_wait(limited.into(why));
      CHECK(why); // no one has told the operation, which its context has given up
    });
    while (on.engine.dump().suspended.empty()) std::this_thread::yield();
    stop.request_stop();
    if (by_time) CHECK(within(5s, [&] { return on.engine.metrics().timers_fired != 0; }));
    std::this_thread::sleep_for(10ms);
    timer.reset();
    elsewhere.reset();
    waiting.get();
  }
  CHECK(on.engine.shutdown(5s).clean());
}

TEST_CASE("operation: of a stream of another engine, which goes on when the own one has ended") {
  served_engine other(1);
  for (const bool stopped : {false, true}) {
    auto ends = make_pair(other.io);
    std::stop_source stop;
    std::string got(10, '\0');
    const auto read = [&]() -> task<std::size_t> {
      io::error_code why;
      const auto until = io::use_task(stop.get_token()).within(1h).into(why);
      co_return co_await asio::async_read(ends.first, asio::buffer(got), until);
    };
    const auto write = [&](std::string text) {
      other.engine
          .run([](io::unix_stream& to, std::string all) -> task<> {
            co_await asio::async_write(to, asio::buffer(all), io::use_task);
          }(ends.second, std::move(text)))
          .get();
    };
    {
      engine own(served_engine::profile_of(1));
      auto whole = own.run(read());
      write("01234");
      write("56789");
      CHECK(whole.get() == 10);
      auto part = own.run(read());
      write("abc");
      while (own.dump().suspended.empty()) std::this_thread::yield();
      CHECK(own.shutdown(0s).kept.size() == 1);
      CHECK_THROWS_AS(part.get(), not_run);
    }
    if (stopped)
      stop.request_stop();
    else
      write("0123456789");
    CHECK(comes_to_rest(other.io));
    other.engine.run([] {}).get(); // its only worker has left the stream
  }
}

TEST_CASE(
    "operation: a wait limit on a stream of another engine touches nothing of the own one that has ended") {
  served_engine other(1);
  for (const bool composed : {false, true}) {
    CAPTURE(composed);
    auto ends = make_pair(other.io);
    ends.first.limit_waits(1h, 1h);
    std::stop_source stop;
    std::string got(2, '\0');
    ::mallopt(M_PERTURB, 85); // memory that is freed is overwritten
    {
      engine own(served_engine::profile_of(1));
      auto part =
          own.run([](io::unix_stream& from, std::string& to, bool whole, std::stop_token until) -> task<> {
            io::error_code why;
            if (whole)
              co_await asio::async_read(from, asio::buffer(to), io::use_task(std::move(until)).into(why));
            else
              co_await from.async_read_some(asio::buffer(to), io::use_task.into(why));
          }(ends.first, got, composed, stop.get_token()));
      while (own.dump().suspended.empty()) std::this_thread::yield();
      CHECK(own.shutdown(0s).kept.size() == 1);
      CHECK_THROWS_AS(part.get(), not_run);
    }
    for (int i = 0; i < (composed ? 2 : 1); ++i) { // the first byte of two has it wait once more
      CHECK(::send(ends.second.native_handle(), "x", 1, MSG_NOSIGNAL) == 1);
      const auto came = [&] { return got[static_cast<std::size_t>(i)] == 'x'; };
      CHECK(within(5s, [&] { return other.engine.run(came).get(); }));
    }
    CHECK(comes_to_rest(other.io));
    other.engine.run([] {}).get(); // its only worker has left the stream
    ::mallopt(M_PERTURB, 0);
  }
}

TEST_CASE("operation: one that begins when the stream's engine has ended is given up") {
  engine own(served_engine::profile_of(1));
  served_engine other(1);
  auto ends = make_pair(other.io);
  io::tcp_stream late(other.io.local());
  auto others = make_pair(other.io);
  io::unix_stream& full = others.first;
  const std::string much(1 << 16, 'x');
  steady_timer timer(other.io.local());
  timer.expires_after(1h);
  CHECK(other.engine.shutdown(5s).clean());
  char byte = 0;
  const auto given_up = [&](auto begin) {
    auto coroutine = [&]() -> task<io::error_code> {
      io::error_code why;
      co_await begin(why);
      co_return why;
    };
    auto result = own.run(coroutine());
    REQUIRE(result.wait_for(10s));
    return result.get() == asio::error::operation_aborted;
  };
  while (::send(full.native_handle(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(given_up([&](io::error_code& why) {
      return ends.first.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
    }));
    CHECK(given_up([&](io::error_code& why) {
      return asio::async_read(ends.first, asio::buffer(&byte, 1), io::use_task.within(1h).into(why));
    }));
    CHECK(given_up([&](io::error_code& why) {
      return full.async_write_some(asio::buffer(much), io::use_task.into(why));
    }));
    CHECK(given_up(
        [&](io::error_code& why) { return late.async_connect(on_loopback(1), io::use_task.into(why)); }));
    CHECK(given_up([&](io::error_code& why) { return timer.async_wait(io::use_task.into(why)); }));
  }
}

TEST_CASE("listen: a handler that throws before it has a coroutine closes its connection once") {
  profile p = served_engine::profile_of(1);
  p.on_exception = exception_action::report;
  engine e(p);
  io::service io(e);
  std::atomic<int> reused{-1};
  const io::listener server = io::listen(io, on_loopback(), {}, [&](io::tcp_stream peer) -> task<> {
    const int number = peer.native_handle();
    peer.close();
    reused = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, number); // the number is free, and is another file's now
    throw std::runtime_error("no coroutine");
  });
  const io::tcp_stream client = e.run([&]() -> task<io::tcp_stream> {
                                   io::tcp_stream made(io.local());
                                   co_await made.async_connect(on_loopback(server.port()));
                                   co_return made;
                                 }())
                                    .get();
  CHECK(within(5s, [&] { return reused >= 0 && server.counts().open == 0; }));
  CHECK(server.counts().accepted == 1);
  CHECK(within(5s, [&] { return e.metrics().failed == 1; }));
  CHECK(::fcntl(reused, F_GETFD) >= 0);
  ::close(reused);
}
