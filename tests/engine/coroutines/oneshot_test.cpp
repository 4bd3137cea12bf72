// The two halves of a oneshot, each of which may go at any time.

#include "small_engine.hpp"
#include "suspended.hpp"
#include "token.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

task<int> receives_number(oneshot_receiver<int> from) { co_return co_await from.receive(); }

task<> receives_token(oneshot_receiver<token> from) { static_cast<void>(co_await from.receive()); }

} // namespace

TEST_CASE("oneshot halves: the value arrives, sent before it is received, and after, and by a task") {
  engine e(small_profile(2));
  for (int round = 0; round < 2000; ++round) {
    auto [sender, receiver] = make_oneshot<std::unique_ptr<int>>();
    const auto receive = [](oneshot_receiver<std::unique_ptr<int>> from) -> task<int> {
      co_return *co_await from.receive();
    };
    auto send = [s = std::move(sender), round]() mutable { s.send(std::make_unique<int>(round)); };
    if (round % 3 == 0) send();
    future<int> got = e.run(receive(std::move(receiver)));
    if (round % 3 == 1) send();
    if (round % 3 == 2) REQUIRE(e.submit(std::move(send)) == submit_result::accepted);
    REQUIRE(got.get() == round);
  }
}

TEST_CASE("oneshot halves: a sender that goes unused tells the receiver so") {
  engine e(small_profile(2));
  {
    auto [sender, receiver] = make_oneshot<int>();
    {
      const oneshot_sender<int> goes = std::move(sender);
    }
    CHECK_THROWS_AS(sync_wait(e, receives_number(std::move(receiver))), broken);
  }
  {
    auto halves = make_oneshot<int>();
    auto sender = std::make_unique<oneshot_sender<int>>(std::move(halves.first));
    future<int> got = e.run(receives_number(std::move(halves.second)));
    wait_until_suspended(e, 1);
    sender.reset();
    CHECK_THROWS_AS(got.get(), broken);
  }
  {
    auto [sender, receiver] = make_oneshot<int>();
    const std::stop_source nobody;
    {
      const oneshot_sender<int> goes = std::move(sender);
    }
    CHECK_THROWS_AS(sync_wait(receiver.receive(nobody.get_token())), broken);
  }
}

TEST_CASE("oneshot halves: a value that throws when it is made is not sent") {
  auto [sender, receiver] = make_oneshot<std::string>();
  CHECK_THROWS_AS(sender.send(std::string().max_size() + 1, 'a'), std::length_error);
  sender.send("there");
  CHECK(sync_wait(receiver.receive()) == "there");
}

TEST_CASE("oneshot halves: whichever half goes first, the value goes with the second") {
  std::atomic<int> alive{0};
  {
    auto halves = make_oneshot<token>();
    {
      const oneshot_receiver<token> goes = std::move(halves.second);
    }
    halves.first.send(alive);
    CHECK(alive == 0);
  }
  {
    auto halves = make_oneshot<token>();
    halves.first.send(alive);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("oneshot halves: a stop ends the wait, and the value may come later") {
  engine e(small_profile(2));
  for (int round = 0; round < 2000; ++round) {
    auto halves = make_oneshot<int>();
    std::stop_source source;
    const auto receive = [](oneshot_receiver<int> from, std::stop_token stop) -> task<int> {
      std::optional<int> value = co_await from.receive(std::move(stop));
      if (!value) value = co_await from.receive();
      co_return *value;
    };
    future<int> got = e.run(receive(std::move(halves.second), source.get_token()));
    if (round % 2 == 0) source.request_stop();
    halves.first.send(7);
    source.request_stop();
    REQUIRE(got.get() == 7);
  }
}

TEST_CASE("oneshot halves: an optional without a value is a value, and no stop") {
  engine e(small_profile(1));
  const auto answers = [](std::optional<int> sent) -> task<std::optional<std::optional<int>>> {
    auto [sender, receiver] = make_oneshot<std::optional<int>>();
    sender.send(sent);
    co_return co_await receiver.receive(std::stop_token());
  };
  CHECK(sync_wait(e, answers(5)).value().value() == 5);
  CHECK_FALSE(sync_wait(e, answers(std::nullopt)).value().has_value());
}

TEST_CASE("oneshot halves: a sender outlives the engine of its receiver, and does nothing then") {
  std::atomic<int> alive{0};
  auto halves = make_oneshot<token>();
  {
    engine e(small_profile(1));
    REQUIRE(e.submit(receives_token(std::move(halves.second))) == submit_result::accepted);
    wait_until_suspended(e, 1);
    const shutdown_report report = e.shutdown(0ms);
    CHECK(number(report.suspended, wait_kind::oneshot) == 1);
  }
  halves.first.send(alive);
  CHECK(alive == 0);
}

TEST_CASE("oneshot halves: a value that is sent while the engine ends and is destroyed goes once") {
  std::atomic<int> alive{0};
  for (int round = 0; round < 1000; ++round) {
    auto halves = make_oneshot<token>();
    std::atomic<bool> now{false};
    std::thread sends([&, sender = std::move(halves.first)]() mutable {
      now.wait(false);
      for (auto pause = round % 200; pause != 0; --pause) std::atomic_signal_fence(std::memory_order_seq_cst);
      sender.send(alive);
    });
    {
      engine e(small_profile(1));
      REQUIRE(e.submit(receives_token(std::move(halves.second))) == submit_result::accepted);
      if (round % 2 == 0) wait_until_suspended(e, 1);
      now = true;
      now.notify_all();
      static_cast<void>(e.shutdown(0ms));
    }
    sends.join();
  }
  CHECK(alive == 0);
}
