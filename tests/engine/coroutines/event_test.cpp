#include "outside.hpp"
#include "small_engine.hpp"
#include "token.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;

namespace {

template <class Event> task<> wait_and_say(Event& e, std::string& out, char c) {
  co_await e.wait();
  out += c;
}

template <class Event> task<> wait_and_say(Event& e, std::stop_token stop, std::string& out, char c) {
  const bool came = co_await e.wait(std::move(stop));
  out += came ? c : static_cast<char>(std::toupper(c));
}

/// Waits until the one worker has run all earlier tasks, up to where they wait.
void settle(engine& one_worker) {
  for (int i = 0; i < 3; ++i) one_worker.run([] {}).get();
}

} // namespace

TEST_CASE("event: waiters go on in order when it is set, and later ones do not wait") {
  event e;
  std::string order;
  outside a(wait_and_say(e, order, 'a'));
  outside b(wait_and_say(e, order, 'b'));
  outside c(wait_and_say(e, order, 'c'));
  CHECK(order.empty());
  CHECK(!e.is_set());
  e.set();
  CHECK(order == "abc");
  outside d(wait_and_say(e, order, 'd'));
  CHECK(order == "abcd");
  e.set(); // the event is set already
  e.reset();
  e.reset();
  outside f(wait_and_say(e, order, 'f'));
  CHECK(order == "abcd");
  e.set();
  CHECK(order == "abcdf");
}

TEST_CASE("event: waiters that are woken together run in their order, before other tasks of the worker") {
  engine e(small_profile(1));
  event happens;
  std::string order; // only one worker writes it
  for (const char c : {'a', 'b', 'c', 'd'}) {
    REQUIRE(e.submit(wait_and_say(happens, order, c)) == submit_result::accepted);
    settle(e);
  }
  e.run([&] {
     REQUIRE(e.submit([&] { order += '-'; }) == submit_result::accepted);
     happens.set();
   }).get();
  e.drain();
  CHECK(order == "a-bcd"); // the task in the slot runs after the first coroutine
}

TEST_CASE("event: a thread can set it, and so can a task of another engine") {
  engine first(small_profile(2));
  engine second(small_profile(2));
  for (int round = 0; round < 500; ++round) {
    event happens;
    std::atomic<int> woken{0};
    const auto waits = [](event& on, std::atomic<int>& n) -> task<> {
      co_await on.wait();
      ++n;
    };
    for (int i = 0; i < 3; ++i) REQUIRE(first.submit(waits(happens, woken)) == submit_result::accepted);
    if (round % 2 == 0)
      happens.set();
    else
      second.run([&] { happens.set(); }).get();
    first.drain();
    CHECK(woken == 3);
  }
  CHECK(first.metrics().total().rescued_by_timeout == 0);
}

TEST_CASE("event: a stop wakes its own waiter at any place of the list, and the others go on waiting") {
  for (const char stopped : {'a', 'b', 'c'}) {
    event e;
    std::string order;
    std::stop_source sources[3];
    outside a(wait_and_say(e, sources[0].get_token(), order, 'a'));
    outside b(wait_and_say(e, sources[1].get_token(), order, 'b'));
    outside c(wait_and_say(e, sources[2].get_token(), order, 'c'));
    sources[stopped - 'a'].request_stop();
    CHECK(order == std::string(1, static_cast<char>(std::toupper(stopped))));
    outside d(wait_and_say(e, order, 'd'));
    e.set();
    std::string expected = "abcd";
    expected.erase(expected.find(stopped), 1);
    CHECK(order.substr(1) == expected);
  }
}

TEST_CASE(
    "event: a waiter whose stop came before does not wait, but an event that was set before has priority") {
  std::stop_source stopped;
  stopped.request_stop();
  std::string order;
  event e;
  outside a(wait_and_say(e, stopped.get_token(), order, 'a'));
  e.set();
  outside b(wait_and_say(e, stopped.get_token(), order, 'b'));
  auto_reset_event one(true);
  outside c(wait_and_say(one, stopped.get_token(), order, 'c'));
  outside d(wait_and_say(one, stopped.get_token(), order, 'd'));
  CHECK(order == "AbcD");
}

TEST_CASE("event: a coroutine that is destroyed while it waits leaves the others waiting") {
  event e;
  std::string order;
  outside a(wait_and_say(e, order, 'a'));
  {
    std::stop_source source;
    const outside b(wait_and_say(e, order, 'b'));
    const outside c(wait_and_say(e, source.get_token(), order, 'c'));
  }
  outside d(wait_and_say(e, order, 'd'));
  e.set();
  CHECK(order == "ad");
}

TEST_CASE("auto_reset_event: each set lets one waiter go on") {
  auto_reset_event e;
  std::string order;
  outside a(wait_and_say(e, order, 'a'));
  outside b(wait_and_say(e, order, 'b'));
  e.set();
  CHECK(order == "a");
  CHECK(!e.is_set());
  e.set();
  CHECK(order == "ab");
  e.set();
  e.set(); // no coroutine took the event: it is set once
  CHECK(e.is_set());
  outside c(wait_and_say(e, order, 'c'));
  outside d(wait_and_say(e, order, 'd'));
  CHECK(order == "abc");
  e.set();
  CHECK(order == "abcd");
  e.set();
  e.reset();
  outside f(wait_and_say(e, order, 'f'));
  CHECK(order == "abcd");
  e.set();
  CHECK(order == "abcdf");
}

TEST_CASE("auto_reset_event: two tasks hand the turn to each other") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    auto_reset_event ping;
    auto_reset_event pong;
    int turns = 0; // not atomic: only one side at a time has its turn
    const auto side = [](auto_reset_event& mine, auto_reset_event& theirs, int& n) -> task<> {
      for (int i = 0; i < 20'000; ++i) {
        co_await mine.wait();
        ++n;
        theirs.set();
      }
    };
    REQUIRE(e.submit(side(ping, pong, turns)) == submit_result::accepted);
    REQUIRE(e.submit(side(pong, ping, turns)) == submit_result::accepted);
    ping.set();
    e.drain();
    CHECK(turns == 40'000);
  }
}
