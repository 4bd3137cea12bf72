#include "outside.hpp"
#include "small_engine.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("barrier: in each phase no task goes on before all have arrived") {
  barrier b(3);
  std::string order;
  const auto arrives = [](barrier& at, std::string& out, char c) -> task<> {
    for (int phase = 0; phase < 2; ++phase) {
      co_await at.arrive_and_wait();
      out += c;
    }
  };
  outside one(arrives(b, order, 'a'));
  outside two(arrives(b, order, 'b'));
  CHECK(order.empty());
  outside three(arrives(b, order, 'c'));
  // The third lets the others go on, and they wait again. Then it goes on itself, and is the last of the next
  // phase.
  CHECK(order == "abcabc");
}

TEST_CASE("barrier: tasks are never more than a phase apart") {
  for (const std::uint32_t workers : {1U, 2U, 8U}) {
    engine e(small_profile(workers));
    constexpr int members = 8;
    constexpr int phases = 2000;
    barrier b(members);
    std::atomic<int> arrived{0};
    std::atomic<int> wrong{0};
    const auto arrives = [&]() -> task<> {
      for (int phase = 1; phase <= phases; ++phase) {
        ++arrived;
        co_await b.arrive_and_wait();
        const int seen = arrived;
        if (seen < phase * members || seen > (phase + 1) * members) ++wrong;
      }
    };
    for (int i = 0; i < members; ++i) REQUIRE(e.submit(arrives()) == submit_result::accepted);
    e.drain();
    CHECK(arrived == members * phases);
    CHECK(wrong == 0);
  }
}

TEST_CASE("barrier: from this phase on the others do not wait for a member that drops out") {
  engine e(small_profile(4));
  constexpr int members = 6;
  barrier b(members);
  std::atomic<int> passed{0};
  const auto leaves_after = [&](int phases) -> task<> {
    for (int i = 0; i < phases; ++i) {
      co_await b.arrive_and_wait();
      ++passed;
    }
    b.arrive_and_drop();
  };
  for (int i = 0; i < members; ++i) REQUIRE(e.submit(leaves_after(i * 10)) == submit_result::accepted);
  e.drain();
  CHECK(passed == (0 + 1 + 2 + 3 + 4 + 5) * 10);
}

TEST_CASE("barrier: a stopped waiter has not arrived, and may drop out") {
  barrier b(3);
  std::stop_source source;
  std::string answers;
  const auto arrives = [](barrier& at, std::stop_token stop, std::string& out) -> task<> {
    const bool all = co_await at.arrive_and_wait(std::move(stop));
    out += all ? '1' : '0';
  };
  outside one(arrives(b, {}, answers));
  outside two(arrives(b, source.get_token(), answers));
  source.request_stop();
  CHECK(answers == "0");
  outside three(arrives(b, {}, answers));
  outside again(arrives(b, source.get_token(), answers)); // stopped before it arrives
  CHECK(answers == "00");
  b.arrive_and_drop();
  CHECK(answers == "0011");
  outside four(arrives(b, {}, answers));
  outside five(arrives(b, {}, answers));
  CHECK(answers == "001111"); // the barrier expects two now
}

TEST_CASE("barrier: with stops at random, all members that are left meet") {
  engine e(small_profile(8));
  for (int round = 0; round < 300; ++round) {
    constexpr int members = 6;
    barrier b(members);
    std::stop_source source;
    std::atomic<int> ended{0};
    const auto arrives = [&](std::stop_token stop) -> task<> {
      for (int phase = 0; phase < 20; ++phase) {
        const bool all = co_await b.arrive_and_wait(stop);
        if (!all) break;
      }
      b.arrive_and_drop();
      ++ended;
    };
    for (int i = 0; i < members; ++i)
      REQUIRE(e.submit(arrives(i < 3 ? source.get_token() : std::stop_token())) == submit_result::accepted);
    for (int i = 0; i < round % 5; ++i) std::this_thread::yield();
    source.request_stop();
    e.drain();
    CHECK(ended == members);
  }
}

TEST_CASE("barrier: one of no members is refused") { CHECK_THROWS_AS(barrier(0), std::invalid_argument); }
