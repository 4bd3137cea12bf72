#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

// Tests how far an emulated processor can be trusted: its threads take turns.

namespace {

struct alignas(128) word {
  std::atomic<int> value{0};
};

/// Counts, for two threads that both write and then read the other's word, how often neither saw the other's
/// write.
int both_were_passed(std::size_t rounds) {
  std::vector<word> left(rounds);
  std::vector<word> right(rounds);
  std::vector<int> seen_on_the_left(rounds);
  std::vector<int> seen_on_the_right(rounds);
  std::latch begin(2);
  const auto write_and_read = [&](std::vector<word>& mine, std::vector<word>& other, std::vector<int>& seen) {
    begin.arrive_and_wait();
    for (std::size_t i = 0; i < rounds; ++i) {
      mine[i].value.store(1, std::memory_order_seq_cst);
      seen[i] = other[i].value.load(std::memory_order_seq_cst);
    }
  };
  std::thread other([&] { write_and_read(right, left, seen_on_the_right); });
  write_and_read(left, right, seen_on_the_left);
  other.join();
  int passed = 0;
  for (std::size_t i = 0; i < rounds; ++i) passed += seen_on_the_left[i] + seen_on_the_right[i] == 0;
  return passed;
}

} // namespace

TEST_CASE("emulation: a program's threads share one processor") {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  CHECK(CPU_COUNT(&allowed) == 1);
}

TEST_CASE("emulation: when two threads each write a word and then read the other's, at least one sees the "
          "other's value") {
  for (int i = 0; i < 100; ++i) CHECK(both_were_passed(4096) == 0);
}
