#include <corewise/engine/detail/lock_word.hpp>
#include <corewise/engine/detail/waiter_list.hpp>

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>
#include <thread>
#include <vector>

using namespace corewise::detail;

TEST_CASE("waiter_list: pops of one, some or all waiters give the same waiters as a plain queue") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::array<waiter, 40> waiters;
  std::deque<waiter*> expected;
  waiter_list list;
  for (int step = 0; step < 200'000; ++step) {
    waiter& any = waiters[random() % waiters.size()];
    const auto taken = [&](waiter* w, wait_state gets) {
      REQUIRE(w == expected.front());
      REQUIRE(w->state == gets);
      expected.pop_front();
    };
    switch (random() % 16) {
    default:
      if (any.state == wait_state::queued) break;
      list.push(any);
      expected.push_back(&any);
      break;
    case 0:
    case 1: {
      waiter* w = list.pop();
      REQUIRE((w == nullptr) == expected.empty());
      if (w != nullptr) taken(w, wait_state::granted);
      break;
    }
    case 2: {
      auto most = static_cast<std::uint32_t>(random() % 5);
      const std::size_t some = std::min<std::size_t>(most, expected.size());
      const std::uint32_t left = most - static_cast<std::uint32_t>(some);
      static_cast<void>(list.pop_some(most));
      REQUIRE(most == left);
      for (std::size_t i = 0; i < some; ++i) taken(expected.front(), wait_state::granted);
      break;
    }
    case 3:
      if (random() % 8 != 0) break;
      static_cast<void>(list.pop_all(wait_state::stopped));
      while (!expected.empty()) taken(expected.front(), wait_state::stopped);
      break;
    case 4:
    case 5:
    case 6: {
      const bool was_in = any.state == wait_state::queued;
      REQUIRE(list.stop(any) == was_in);
      if (was_in) std::erase(expected, &any);
      if (was_in) REQUIRE(any.state == wait_state::stopped);
      break;
    }
    }
    REQUIRE(list.empty() == expected.empty());
  }
}

TEST_CASE("waiter_list: a waiter that is put back in front is popped next, and others keep their order") {
  std::array<waiter, 3> waiters;
  waiter_list list;
  for (waiter& w : waiters) list.push(w);
  REQUIRE(list.pop() == &waiters[0]);
  list.push_front(waiters[0]);
  CHECK(waiters[0].state == wait_state::queued);
  for (waiter& w : waiters) CHECK(list.pop() == &w);
  CHECK(list.empty());
  list.push_front(waiters[1]);
  list.push(waiters[2]);
  CHECK(list.stop(waiters[1]));
  CHECK(list.pop() == &waiters[2]);
  CHECK(list.empty());
}

TEST_CASE("waiter_list: pop_if takes out the first waiter that is wanted, wherever it stands") {
  std::array<waiter, 4> waiters;
  waiter_list list;
  for (waiter& w : waiters) list.push(w);
  const auto any_of = [&](std::size_t a, std::size_t b) {
    return [&waiters, a, b](const waiter& w) { return &w == &waiters[a] || &w == &waiters[b]; };
  };
  CHECK(list.pop_if(any_of(3, 1)) == &waiters[1]);
  CHECK(waiters[1].state == wait_state::granted);
  CHECK(list.pop_if(any_of(3, 1)) == &waiters[3]);
  CHECK(list.pop_if(any_of(3, 1)) == nullptr);
  list.push(waiters[1]);
  CHECK(list.pop() == &waiters[0]);
  CHECK(list.pop() == &waiters[2]);
  CHECK(list.pop() == &waiters[1]);
  CHECK(list.empty());
}

TEST_CASE("lock_word: one thread at a time holds it, and none is left asleep") {
  for (const int threads : {2, 16}) {
    lock_word word(0);
    std::uint64_t held = 0; // not atomic
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          const lock_word::bits seen = word.lock();
          ++held;
          if (i % 1024 == 0) std::this_thread::yield(); // so that others have to sleep
          word.unlock(lock_word::of(lock_word::number(seen) + 1, lock_word::waited_for(seen)));
        }
      });
    all.clear();
    CHECK(held == static_cast<std::uint64_t>(threads) * 20'000);
    CHECK(lock_word::number(word.look()) == held);
    CHECK(lock_word::idle(word.look()));
  }
}

TEST_CASE("lock_word: a change without the lock is not lost while another thread holds the lock") {
  lock_word word(0);
  const auto adds_alone = [&] {
    for (int i = 0; i < 20'000; ++i) {
      lock_word::bits seen = word.look();
      while (lock_word::locked(seen) ||
             !word.replace(seen, lock_word::of(lock_word::number(seen) + 1, false)))
        seen = word.look();
    }
  };
  const auto adds_locked = [&] {
    for (int i = 0; i < 20'000; ++i) word.unlock(lock_word::of(lock_word::number(word.lock()) + 1, false));
  };
  std::vector<std::jthread> all;
  for (int t = 0; t < 3; ++t) all.emplace_back(adds_alone), all.emplace_back(adds_locked);
  all.clear();
  CHECK(lock_word::number(word.look()) == 120'000);
}
