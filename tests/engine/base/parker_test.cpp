#include "base/parker.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

TEST_CASE("parker: a thread takes a token that was left before without sleeping, and only once") {
  detail::parker bed;
  bed.unpark();
  bed.unpark();
  CHECK(bed.park({}));
  CHECK_FALSE(bed.park(1ms));
}

TEST_CASE("parker: a sleeper is woken, and it can tell a time-out from a wake-up") {
  detail::parker bed;
  CHECK_FALSE(bed.park(2ms));
  CHECK_FALSE(bed.occupied());
  std::thread waker([&] {
    while (!bed.occupied()) std::this_thread::yield();
    bed.unpark();
  });
  CHECK(bed.park({}));
  CHECK_FALSE(bed.occupied());
  waker.join();
}

TEST_CASE("parker: two threads that wake each other in turn never both sleep") {
  detail::parker a;
  detail::parker b;
  constexpr int rounds = 20'000;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      b.park({});
      a.unpark();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    b.unpark();
    a.park({});
  }
  other.join();
}
