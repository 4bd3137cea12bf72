#include "worker/seat_generation.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace corewise::detail;

TEST_CASE("seat generation: the lender gets its seat back, unless another thread took it") {
  seat_generation seat;
  CHECK_FALSE(seat.lending());
  const std::uint64_t first = seat.lend();
  CHECK(seat.lending() == first);
  CHECK(seat.regain(first));
  CHECK_FALSE(seat.lending());
  CHECK_FALSE(seat.take(first));
  const std::uint64_t second = seat.lend();
  CHECK(second != first);
  CHECK_FALSE(seat.take(first)); // `first` names an older offer
  CHECK(seat.take(second));
  CHECK_FALSE(seat.regain(second));
}

TEST_CASE("seat generation: a late lender does not take the seat that another thread has lent") {
  seat_generation seat;
  const std::uint64_t first = seat.lend();
  CHECK(seat.take(first));
  const std::uint64_t second = seat.lend();
  CHECK_FALSE(seat.regain(first));
  CHECK(seat.lending() == second);
  CHECK(seat.regain(second));
}

TEST_CASE(
    "seat generation: exactly one thread gets a lent seat, and sees everything that was written there") {
  constexpr std::uint64_t rounds = 20'000;
  seat_generation seat;
  std::uint64_t written = 0; // only the thread that holds the seat writes it
  std::atomic<std::uint64_t> wins{0};
  std::atomic<bool> over{false};
  const auto take_any = [&] {
    while (!over) {
      const auto lending = seat.lending();
      if (!lending || !seat.take(*lending)) continue;
      ++written;
      wins.fetch_add(1);
      // The thread that lent the seat goes on, without a seat, until it is given one.
      while (seat.lending() || wins.load() != 0) std::this_thread::yield();
    }
  };
  std::thread first(take_any);
  std::thread second(take_any);
  std::uint64_t regained = 0;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t lending = seat.lend();
    if (i % 3 == 0) std::this_thread::yield();
    if (seat.regain(lending)) {
      ++written;
      ++regained;
    } else {
      while (wins.load() == 0) std::this_thread::yield();
      ++taken;
      wins.fetch_sub(1);
    }
  }
  over = true;
  first.join();
  second.join();
  CHECK(regained + taken == rounds);
  CHECK(written == rounds);
}
