#include "outside.hpp"
#include "small_engine.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

/// Receives values a few at a time, all into one vector. Returns how often the vector got new memory.
task<int> receive_into_one(channel<int>& from, std::size_t values) {
  std::vector<int> all;
  int moved = 0;
  while (all.size() < values) {
    const std::size_t room = all.capacity();
    co_await from.receive_some(all, 4);
    moved += all.capacity() != room ? 1 : 0;
  }
  co_return moved;
}
task<> send_numbers(channel<int>& to, int count) {
  for (int i = 0; i < count; ++i) co_await to.send(i);
}

task<> send_all_and_say(channel<int>& to, std::span<int> values, std::stop_token stop, std::string& out) {
  const std::size_t sent = co_await to.send_all(values, std::move(stop));
  out += 's' + std::to_string(sent);
}

task<> receive_some_and_say(channel<int>& from, std::size_t most, std::stop_token stop, std::string& out) {
  std::vector<int> got;
  const std::size_t received = co_await from.receive_some(got, most, std::move(stop));
  REQUIRE(received == got.size());
  out += 'r';
  for (const int value : got) out += std::to_string(value);
}

std::vector<int> count_to(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

} // namespace

TEST_CASE("channel, batches: values come in their order, and wait for room") {
  for (const std::size_t capacity : {0U, 1U, 2U, 3U, 9U}) {
    CAPTURE(capacity);
    channel<int> c(capacity);
    std::string said;
    std::vector<int> values = count_to(5);
    outside s(send_all_and_say(c, values, {}, said));
    CHECK(said == (capacity < 5 ? "" : "s5"));
    for (int i = 1; i <= 5; ++i) CHECK(c.try_receive() == i);
    CHECK(said == "s5");
    CHECK(c.try_receive() == std::nullopt);
  }
}

TEST_CASE("channel, batches: a receiver gets what is there, at most as many as it wants, and at least one") {
  channel<int> c(8);
  std::string said;
  std::vector<int> values = count_to(7);
  outside a(send_all_and_say(c, values, {}, said));
  outside none(receive_some_and_say(c, 0, {}, said));
  outside b(receive_some_and_say(c, 3, {}, said));
  outside d(receive_some_and_say(c, 100, {}, said));
  CHECK(said == "s7rr123r4567");
  outside f(receive_some_and_say(c, 100, {}, said));
  CHECK(c.try_send(8));
  CHECK(said == "s7rr123r4567r8");
  c.close();
  outside last(receive_some_and_say(c, 100, {}, said));
  CHECK(said == "s7rr123r4567r8r");
}

TEST_CASE("channel, batches: a close or a stop ends them, and what was not sent is the caller's") {
  channel<std::unique_ptr<int>> c(2);
  std::vector<std::unique_ptr<int>> values;
  for (int i = 0; i < 4; ++i) values.push_back(std::make_unique<int>(i));
  std::stop_source source;
  std::size_t sent = 9;
  const auto sends = [](channel<std::unique_ptr<int>>& to, std::span<std::unique_ptr<int>> all,
                        std::stop_token stop,
                        std::size_t& out) -> task<> { out = co_await to.send_all(all, std::move(stop)); };
  {
    outside a(sends(c, values, source.get_token(), sent));
    source.request_stop();
  }
  CHECK(sent == 2);
  CHECK(values[0] == nullptr);
  REQUIRE(values[2]);
  outside b(sends(c, std::span(values).subspan(2), {}, sent));
  c.close();
  CHECK(sent == 0);
  REQUIRE(values[2]);
  CHECK(*values[2] == 2);

  channel<int> empty(2);
  std::string said;
  outside r(receive_some_and_say(empty, 4, source.get_token(), said));
  CHECK(said == "r");
  empty.close();
  std::vector<int> late = count_to(2);
  outside refused(send_all_and_say(empty, late, {}, said)); // though there is room
  CHECK(said == "rs0");
}

TEST_CASE("channel, batches: many senders and receivers, and no value is lost or doubled") {
  engine e(small_profile(8));
  for (const std::size_t capacity : {0U, 1U, 7U, 200U}) {
    CAPTURE(capacity);
    constexpr std::size_t senders = 6;
    constexpr std::size_t each = 3000;
    channel<std::size_t> c(capacity);
    std::vector<std::atomic<int>> seen(senders * each);
    std::atomic<std::size_t> sending{senders};
    const auto sends = [&](std::size_t sender) -> task<> {
      std::vector<std::size_t> values(each);
      std::iota(values.begin(), values.end(), sender * each);
      for (std::size_t at = 0, batch = 1; at != each; batch = batch % 70 + 1) {
        const std::size_t wanted = std::min(batch, each - at);
        const std::size_t sent = co_await c.send_all(std::span(values).subspan(at, wanted));
        REQUIRE(sent == wanted);
        at += sent;
      }
      if (--sending == 0) c.close();
    };
    const auto receives = [&](std::size_t most) -> task<> {
      std::vector<std::size_t> got;
      for (;;) {
        got.clear();
        const std::size_t received = co_await c.receive_some(got, most);
        if (received == 0) break;
        for (const std::size_t value : got) ++seen[value];
      }
    };
    for (const std::size_t most : {1U, 5U, 100U})
      REQUIRE(e.submit(receives(most)) == submit_result::accepted);
    for (std::size_t sender = 0; sender < senders; ++sender)
      REQUIRE(e.submit(sends(sender)) == submit_result::accepted);
    e.drain();
    CHECK(std::all_of(seen.begin(), seen.end(), [](const std::atomic<int>& n) { return n == 1; }));
  }
}

TEST_CASE("channel: more room than positions are counted is refused") {
  CHECK_THROWS_WITH_AS(channel<char>(536'870'912), "a channel has room for 536870911 values at most",
                       std::length_error);
  using end = detail::channel_end<int>;
  const auto last =
      static_cast<end::bits>(-static_cast<int>(end::step)); // the next position is the first again
  CHECK(end::distance(last | end::closed, end::beyond(last, 3) | end::waited_for) == 3);
  CHECK(end::distance(end::beyond(last, 3), end::beyond(last, 3)) == 0);
}

TEST_CASE("channel: the thread that receives the last value may destroy the channel") {
  std::atomic<channel<int>*> at{nullptr};
  constexpr int rounds = 20'000;
  std::jthread sender([&] {
    for (int i = 0; i < rounds; ++i) {
      auto* const c = new channel<int>(i % 2 == 0 ? 1 : 2);
      at = c;
      while (!c->try_send(int{i})) {
      }
      while (at != nullptr) std::this_thread::yield();
    }
  });
  int in_order = 0;
  for (int i = 0; i < rounds; ++i) {
    channel<int>* c = nullptr;
    while ((c = at) == nullptr) std::this_thread::yield();
    std::optional<int> value;
    while (!(value = c->try_receive())) {
    }
    in_order += value == i ? 1 : 0;
    delete c;
    at = nullptr;
  }
  CHECK(in_order == rounds);
}

TEST_CASE("channel: a vector that is received into again and again seldom moves") {
  engine e(small_profile(1));
  channel<int> c(8);
  REQUIRE(e.submit(send_numbers(c, 4000)) == submit_result::accepted);
  CHECK(sync_wait(e, receive_into_one(c, 4000)) < 20);
  e.drain();
}
