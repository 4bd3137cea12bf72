#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <runtime/runtime.hpp>

#include <atomic>
#include <semaphore>
#include <thread>

using namespace corewise;

namespace {

/// Submits when it is destroyed: after the thread-local objects that the thread made later.
struct flushes_at_exit {
  engine* to = nullptr;
  engine* to_another = nullptr;
  std::atomic<int>* ran = nullptr;

  ~flushes_at_exit() {
    for (int i = 0; i < 1000 && to != nullptr; ++i)
      for (engine* e : {to, to_another})
        if (e->submit([ran = ran] { ran->fetch_add(1); }) != submit_result::accepted) std::abort();
  }
};
thread_local flushes_at_exit flushes;

int records_of(engine& e) {
  int records = 0;
  inside_of(e).submitters().for_each([&](const detail::submitter&) { ++records; });
  return records;
}

} // namespace

TEST_CASE(
    "late thread: a thread that submits when its thread-local objects are gone has one record an engine") {
  std::atomic<int> ran{0};
  engine first(small_profile(1));
  engine second(small_profile(1));
  const int before = records_of(first);
  for (int threads = 0; threads < 3; ++threads)
    std::thread([&] {
      flushes.to = &first; // made before the thread's submitters
      flushes.to_another = &second;
      flushes.ran = &ran;
      if (first.submit([] {}) != submit_result::accepted) std::abort();
    }).join();
  first.drain();
  second.drain();
  CHECK(ran == 6000);
  CHECK(records_of(first) <= before + 1); // each thread has left it to the next
}

TEST_CASE(
    "late thread: a thread that submits after the engine's own look at its end leaves its record, too") {
  static std::atomic<int> ran{0};
  static engine* to = nullptr;
  engine e(small_profile(1));
  to = &e;
  if (e.submit([] {}) != submit_result::accepted) std::abort();
  const int before = records_of(e);
  pthread_key_t flush{}; // made later than the engine's keys, so that the system calls it after those
  REQUIRE(pthread_key_create(&flush, [](void*) {
            for (int i = 0; i < 1000; ++i)
              if (to->submit([] { ran.fetch_add(1); }) != submit_result::accepted) std::abort();
          }) == 0);
  for (int threads = 0; threads < 3; ++threads)
    std::thread([&] {
      pthread_setspecific(flush, &flush);
      if (e.submit([] {}) != submit_result::accepted) std::abort();
    }).join();
  pthread_key_delete(flush);
  e.drain();
  CHECK(ran == 3000);
  CHECK(records_of(e) <= before + 1);
}

TEST_CASE("late thread: one that was about to write more into a queue outlives the engine") {
  std::binary_semaphore written{0};
  std::binary_semaphore go_on{0};
  std::thread submits;
  {
    gate held;
    engine e(small_profile(1));
    REQUIRE(e.submit([&] { held.pass(); }) == submit_result::accepted);
    held.wait_for(1);
    submits = std::thread([&] {
      for (int i = 0; i < 1500; ++i) // more than the inbox takes: the rest goes into segments
        if (e.submit([] {}) != submit_result::accepted) std::abort();
      written.release();
      go_on.acquire();
    });
    written.acquire();
    held.open();
  }
  go_on.release();
  submits.join(); // and touches nothing of the engine's: AddressSanitizer looks
}
