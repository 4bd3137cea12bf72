#include "outside.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

task<> send_and_say(channel<int>& to, int value, std::string& out) {
  const bool sent = co_await to.send(value);
  out += sent ? 's' : 'x';
}

task<> receive_and_say(channel<int>& from, std::string& out) {
  const std::optional<int> value = co_await from.receive();
  out += value ? std::to_string(*value) : "-";
}

/// Returns a reference to the value, which is moved from only when a receiver takes it.
template <class T> T&& offered(T& value) noexcept { return static_cast<T&&>(value); }

/// Notes which values came, and how often.
class tally {
 public:
  explicit tally(std::size_t values) : seen_(values) {}
  void note(std::size_t value) { ++seen_[value]; }
  bool each_once() const {
    return std::all_of(seen_.begin(), seen_.end(), [](const std::atomic<int>& n) { return n == 1; });
  }

 private:
  std::vector<std::atomic<int>> seen_;
};

} // namespace

TEST_CASE("channel: values come in the order in which they were sent, also those of waiting senders") {
  channel<int> c(2);
  CHECK(c.capacity() == 2);
  std::string said;
  outside a(send_and_say(c, 1, said));
  outside b(send_and_say(c, 2, said));
  CHECK(said == "ss");
  outside d(send_and_say(c, 3, said));
  outside f(send_and_say(c, 4, said));
  CHECK(said == "ss"); // there is no room
  CHECK(!c.try_send(5));
  CHECK(c.try_receive() == 1);
  CHECK(said == "sss"); // the third value has room now
  for (const int expected : {2, 3, 4}) CHECK(c.try_receive() == expected);
  CHECK(said == "ssss");
  CHECK(c.try_receive() == std::nullopt);
}

TEST_CASE("channel: waiting receivers get values in the order in which they came") {
  for (const std::size_t capacity : {0U, 1U, 5U}) {
    channel<int> c(capacity);
    std::string said;
    outside a(receive_and_say(c, said));
    outside b(receive_and_say(c, said));
    CHECK(c.try_send(1));
    CHECK(said == "1");
    CHECK(c.try_send(2));
    CHECK(said == "12");
    CHECK(c.try_send(3) == (capacity != 0)); // no receiver waits
  }
}

TEST_CASE("channel: without room a sender and a receiver meet, in either order of coming") {
  channel<int> c(0);
  std::string said;
  outside a(send_and_say(c, 1, said));
  outside b(send_and_say(c, 2, said));
  CHECK(said.empty());
  outside r(receive_and_say(c, said));
  CHECK(said == "s1");
  CHECK(c.try_receive() == 2);
  CHECK(said == "s1s");
  outside t(receive_and_say(c, said));
  outside d(send_and_say(c, 3, said));
  CHECK(said == "s1s3s");
}

TEST_CASE("channel: a closed channel refuses senders, and receivers drain its values") {
  channel<int> c(2);
  std::string said;
  outside a(send_and_say(c, 1, said));
  outside b(send_and_say(c, 2, said));
  outside waits(send_and_say(c, 3, said));
  CHECK(!c.closed());
  c.close();
  c.close();
  CHECK(c.closed());
  CHECK(said == "ssx");
  CHECK(!c.try_send(4));
  outside late(send_and_say(c, 5, said));
  CHECK(said == "ssxx");
  outside r(receive_and_say(c, said));
  CHECK(c.try_receive() == 2);
  outside last(receive_and_say(c, said));
  CHECK(said == "ssxx1-");

  channel<int> empty(1);
  outside one(receive_and_say(empty, said));
  outside two(receive_and_say(empty, said));
  empty.close();
  CHECK(said == "ssxx1---");
  // It has room, and takes nothing.
  CHECK(!empty.try_send(6));
  outside refused(send_and_say(empty, 7, said));
  CHECK(said == "ssxx1---x");
  CHECK(empty.try_receive() == std::nullopt);
}

TEST_CASE("channel: a value that was not sent still belongs to the caller") {
  channel<std::unique_ptr<int>> c(1);
  auto value = std::make_unique<int>(7);
  const auto sends = [](channel<std::unique_ptr<int>>& to, std::unique_ptr<int>& v, std::stop_token stop,
                        std::string& out) -> task<> {
    const bool sent = co_await to.send(offered(v), std::move(stop));
    out += sent ? '1' : '0';
  };
  std::string answers;
  CHECK(c.try_send(std::make_unique<int>(1)));
  CHECK(!c.try_send(offered(value)));
  REQUIRE(value);
  {
    std::stop_source source;
    outside a(sends(c, value, source.get_token(), answers));
    source.request_stop();
  }
  REQUIRE(value);
  outside b(sends(c, value, {}, answers));
  c.close();
  REQUIRE(value);
  CHECK(answers == "00");
  CHECK(*c.try_receive().value() == 1);
}

TEST_CASE("channel: a stop ends the wait of a receiver, and the value goes to the next") {
  channel<int> c(0);
  std::stop_source source;
  std::string said;
  const auto receives = [](channel<int>& from, std::stop_token stop, std::string& out) -> task<> {
    const std::optional<int> value = co_await from.receive(std::move(stop));
    out += value ? std::to_string(*value) : "-";
  };
  outside a(receives(c, source.get_token(), said));
  outside b(receives(c, {}, said));
  source.request_stop();
  CHECK(said == "-");
  CHECK(c.try_send(1));
  CHECK(said == "-1");
  outside s(send_and_say(c, 2, said));
  outside d(receives(c, source.get_token(), said)); // a value is there: it counts for more
  outside f(receives(c, source.get_token(), said));
  CHECK(said == "-1s2-");
}

TEST_CASE("channel: values that no task received are destroyed with the channel") {
  std::atomic<int> alive{0};
  {
    channel<std::unique_ptr<token>> c(3);
    for (int i = 0; i < 5; ++i) { // so that the next value is not at the beginning of the buffer
      CHECK(c.try_send(std::make_unique<token>(alive)));
      CHECK(c.try_send(std::make_unique<token>(alive)));
      CHECK(c.try_receive());
      CHECK(c.try_receive());
    }
    CHECK(c.try_send(std::make_unique<token>(alive)));
    CHECK(c.try_send(std::make_unique<token>(alive)));
    CHECK(alive == 2);
  }
  CHECK(alive == 0);
}

TEST_CASE("channel: one receiver gets all values of one sender in order") {
  for (const std::uint32_t workers : {1U, 2U, 8U})
    for (const std::size_t capacity : {0U, 1U, 3U, 64U}) {
      CAPTURE(capacity);
      engine e(small_profile(workers));
      channel<int> c(capacity);
      constexpr int count = 5000;
      const auto sends = [](channel<int>& to) -> task<> {
        for (int i = 0; i < count; ++i) co_await to.send(i);
        to.close();
      };
      const auto receives = [](channel<int>& from) -> task<int> {
        int expected = 0;
        for (;;) {
          const std::optional<int> value = co_await from.receive();
          if (!value || *value != expected) break;
          ++expected;
        }
        co_return expected;
      };
      REQUIRE(e.submit(sends(c)) == submit_result::accepted);
      CHECK(sync_wait(e, receives(c)) == count);
    }
}

TEST_CASE("channel: among many senders and receivers, also threads, each value comes once, and a sender's "
          "values in order") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  for (const std::size_t capacity : {0U, 1U, 16U}) {
    CAPTURE(capacity);
    engine e(small_profile(8));
    constexpr std::size_t senders = 12; // tasks; two threads send as well
    constexpr std::size_t each = 4000;
    channel<std::unique_ptr<std::size_t>> c(capacity);
    tally came((senders + 2) * each);
    std::atomic<int> out_of_order{0};
    std::atomic<std::size_t> sent{0};
    const auto take = [&](std::vector<std::size_t>& next, std::size_t value) {
      came.note(value);
      std::size_t& least = next[value / each];
      if (value < least) ++out_of_order;
      least = value + 1;
    };
    const auto sends = [&](std::size_t who) -> task<> {
      for (std::size_t i = 0; i < each; ++i) {
        const bool ok = co_await c.send(std::make_unique<std::size_t>(who * each + i));
        if (ok) ++sent;
      }
    };
    const auto receives = [&]() -> task<> {
      std::vector<std::size_t> next(senders + 2);
      for (;;) {
        const std::optional<std::unique_ptr<std::size_t>> value = co_await c.receive();
        if (!value) break;
        take(next, **value);
      }
    };
    std::vector<std::jthread> threads;
    for (std::size_t who = senders; who < senders + 2; ++who)
      threads.emplace_back([&, who] {
        for (std::size_t i = 0; i < each; ++i) {
          auto value = std::make_unique<std::size_t>(who * each + i);
          while (!c.try_send(offered(value))) std::this_thread::yield();
          ++sent;
        }
      });
    std::jthread receiver([&] {
      std::vector<std::size_t> next(senders + 2);
      while (!c.closed()) {
        const auto value = c.try_receive();
        if (value)
          take(next, **value);
        else
          std::this_thread::yield();
      }
    });
    for (std::size_t i = 0; i < 6; ++i) REQUIRE(e.submit(receives()) == submit_result::accepted);
    for (std::size_t who = 0; who < senders; ++who) REQUIRE(e.submit(sends(who)) == submit_result::accepted);
    while (sent != (senders + 2) * each) std::this_thread::yield();
    c.close();
    e.drain();
    threads.clear();
    receiver.join();
    CHECK(came.each_once());
    CHECK(out_of_order == 0);
  }
}

TEST_CASE("channel: senders and receivers are stopped at random, and no value is lost or doubled") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  engine e(small_profile(8));
  for (int round = 0; round < 60; ++round) {
    constexpr std::size_t senders = 10;
    constexpr std::size_t each = 40;
    channel<std::unique_ptr<std::size_t>> c(random() % 3);
    tally came(senders * each);
    std::vector<std::stop_source> sources(senders);
    const auto sends = [&](std::size_t who, std::stop_token stop) -> task<> {
      for (std::size_t i = 0; i < each; ++i) {
        auto value = std::make_unique<std::size_t>(who * each + i);
        const bool sent = co_await c.send(offered(value), stop);
        if (sent) continue;
        if (value == nullptr) std::abort(); // the value was neither sent nor kept
        came.note(*value);
      }
    };
    const auto receives = [&](std::stop_token stop) -> task<> {
      for (;;) {
        const std::optional<std::unique_ptr<std::size_t>> value = co_await c.receive(stop);
        if (!value) break;
        came.note(**value);
      }
    };
    for (std::size_t who = 0; who < senders; ++who) {
      REQUIRE(e.submit(receives(sources[random() % senders].get_token())) == submit_result::accepted);
      REQUIRE(e.submit(sends(who, sources[random() % senders].get_token())) == submit_result::accepted);
    }
    for (std::stop_source& s : sources) {
      if (random() % 2 == 0) std::this_thread::yield();
      s.request_stop();
    }
    // Each stopped coroutine ends. Values that were sent and not received are still in the channel.
    e.drain();
    for (auto value = c.try_receive(); value; value = c.try_receive()) came.note(**value);
    CHECK(came.each_once());
  }
}

TEST_CASE("channel: coroutines that wait when the engine ends are destroyed when the channel is closed") {
  std::atomic<int> alive{0};
  channel<int> c(0);
  engine e(small_profile(2));
  const auto receives = [](channel<int>& from, token) -> task<> { co_await from.receive(); };
  for (int i = 0; i < 5; ++i) REQUIRE(e.submit(receives(c, token(alive))) == submit_result::accepted);
  while (e.metrics().waiting() != 0) std::this_thread::yield();
  static_cast<void>(e.shutdown(std::chrono::milliseconds{1}));
  c.close();
  CHECK(alive == 0);
  CHECK(e.metrics().in_flight() == 0);
}
