#include "child_process.hpp"
#include "counts.hpp"
#include "refused_call.hpp"
#include "sanitized.hpp"
#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

// What the calls on an engine answer in the child of a process fork.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using process_fork = pid_t (*)();

/// Ends the child, with the line of the first call that answered wrongly as its status, or with 0.
class answers {
 public:
  answers() { ::alarm(20); } // ends the child if a call waits for ever
  void want(bool right, int line) {
    if (!right && wrong_ == 0) wrong_ = line;
  }
  [[noreturn]] void end() const { std::_Exit(wrong_ == 0 ? 0 : 1 + wrong_ % 255); }

 private:
  int wrong_ = 0;
};

#define WANT(...) all.want((__VA_ARGS__), __LINE__)

template <class F> bool is_not_run(const F& f) {
  try {
    f();
  } catch (const not_run&) {
    return true;
  }
  return false;
}

/// Calls all that an engine of the parent's offers.
void call_all(engine& parents, answers& all) {
  const hint somewhere{.address = &all};
  WANT(parents.submit([] { std::_Exit(3); }) == submit_result::stopping);
  WANT(parents.submit([] { std::_Exit(3); }, somewhere) == submit_result::stopping);
  WANT(parents.submit([] { std::_Exit(3); }, {.deadline = std::chrono::steady_clock::now()}, [] {}) ==
       submit_result::stopping);
  WANT(parents.try_submit([] { std::_Exit(3); }) == submit_result::stopping);
  WANT(parents.submit([]() -> task<> { co_return; }()) == submit_result::stopping);
  WANT(is_not_run([&] { parents.run([] { return 1; }).get(); }));
  WANT(is_not_run([&] { sync_wait(parents, []() -> task<int> { co_return 1; }()); }));
  WANT(!parents.after(1ms, [] { std::_Exit(3); }).cancel());
  WANT(!parents.every(1ms, [] { std::_Exit(3); }).cancel());
  bool refused = false;
  WANT(parents.submit_or([] { std::_Exit(3); }, [&](auto&&, submit_result) { refused = true; }) ==
       submit_result::stopping);
  WANT(refused);
  const apply_result applied = parents.apply(small_profile(1));
  WANT(!applied.applied() && applied.in_child && applied.to_text().find("parent") != std::string::npos);
  WANT(!parents.refresh());
  parents.drain();
  WANT(parents.shutdown(1s).clean());
  WANT(parents.shutdown(1s, 1s).clean());
  WANT(parents.stop_token().stop_possible() && !parents.stop_token().stop_requested());
  const health_report health = parents.health();
  WANT(health.state == health_state::ended && health.why.empty());
  WANT(load_meter(parents).read().state == health_state::ended);
  WANT(parents.metrics().workers.empty());
  WANT(parents.dump().seats.empty());
  WANT(parents.trace(1h).events.empty());
  WANT(parents.warnings().empty());
  WANT(parents.configuration().workers.total == 2U);
  WANT(parents.groups().size() != 0 && parents.workers().size() == 2);
  WANT(!parents.this_worker());
  WANT(blocking([] { return 5; }) == 5);
  const std::pmr::vector<int> numbers({1, 2, 3}, &parents.memory(first_group));
  WANT(numbers.back() == 3);
  WANT(is_not_run([&] {
    blocking_scope s(parents);
    s.fork([] { std::_Exit(3); });
    s.wait();
  }));
}

/// Makes an engine in the child, and uses it.
void make_own(answers& all) {
  engine own(small_profile(2));
  WANT(own.run([] { return blocking([] { return 5; }); }).get() == 5);
  WANT(sync_wait(own, []() -> task<int> {
         co_await sleep_for(1ms);
         co_return 6;
       }()) == 6);
  WANT(own.warnings().empty()); // no engine of the parent's is in the way
  own.drain();
}

/// Threads that do all at once what takes a lock.
class busy_threads {
 public:
  explicit busy_threads(engine& e) {
    const auto repeat = [this](auto act) {
      threads_.emplace_back([this, act] {
        while (!enough_.load()) act();
      });
    };
    repeat([&] { static_cast<void>(e.submit([] {})); });
    repeat([&] { std::thread([&] { static_cast<void>(e.submit([] {})); }).join(); });
    repeat([&] { static_cast<void>(e.apply(small_profile(2))); });
    repeat([] { const engine other(small_profile(1)); });
    repeat([&] {
      static_cast<void>(e.warnings()), static_cast<void>(e.metrics()), static_cast<void>(e.dump()),
          static_cast<void>(e.refresh());
    });
    repeat([&] { static_cast<void>(e.after(1ms, [] {}).cancel()); });
    repeat([&] { const std::pmr::vector<char> room(1000, &e.memory(first_group)); });
    repeat([&] { static_cast<void>(e.configuration()), e.drain(); });
  }
  ~busy_threads() {
    enough_.store(true);
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::atomic<bool> enough_{false};
  std::vector<std::thread> threads_;
};

} // namespace

TEST_CASE("fork: every call answers in a child, and after `_Fork`, and a child of `fork` makes an engine") {
  engine e(small_profile(2));
  e.drain();
  for (const process_fork make : {&::fork, &::_Fork})
    CHECK(tests::exit_status(tests::child_that(
              [&] {
                answers all;
                call_all(e, all);
                if (make == &::fork) make_own(all);
                all.end();
              },
              make)) == 0);
}

TEST_CASE("fork: every call answers in a child that a task, or a call that blocks, has forked") {
  engine e(small_profile(2));
  for (const process_fork make : {&::fork, &::_Fork})
    for (const bool blocks : {false, true}) {
      std::atomic<int> status{-1};
      const auto forks = [&] {
        status = tests::exit_status(tests::child_that(
            [&] {
              answers all;
              call_all(e, all);
              if (make == &::fork) make_own(all);
              all.end();
            },
            make));
      };
      CHECK(e.submit([&] { blocks ? blocking(forks) : forks(); }) == submit_result::accepted);
      e.drain();
      CHECK(status == 0);
    }
}

TEST_CASE("fork: every call answers in a child, whatever other threads do at the fork") {
  constexpr int children = tests::count_of(40, 150);
  engine e(small_profile(2));
  const busy_threads others(e);
  int failures = 0;
  for (int i = 0; i < children && failures == 0; ++i)
    failures += tests::exit_status(tests::child_that([&] {
                  answers all;
                  call_all(e, all);
                  make_own(all);
                  all.end();
                })) != 0;
  CHECK(failures == 0);
}

TEST_CASE("fork: where the kernel does not wipe pages in children, every call answers in a child of a task") {
  if (tests::sanitized) {
    MESSAGE("skipped: a sanitizer needs madvise itself");
    return;
  }
  constexpr const char* begun_anew = "COREWISE_TEST_WITHOUT_MADVISE";
  if (std::getenv(begun_anew) == nullptr) {
    // The engine asks for it when the program begins, so the program begins once more.
    const auto begin_anew = [&] {
      ::setenv(begun_anew, "1", 1);
      ::execl("/proc/self/exe", "tests", "-tc=fork: where the kernel does not wipe pages*", nullptr);
      return 1;
    };
    CHECK(tests::wrong_without(SYS_madvise, {}, begin_anew) == 0);
    return;
  }
  REQUIRE(::madvise(nullptr, 0, MADV_WIPEONFORK) != 0);
  engine e(small_profile(2));
  for (const bool blocks : {false, true}) {
    std::atomic<int> status{-1};
    const auto forks = [&] {
      status = tests::exit_status(tests::child_that([&] {
        answers all;
        call_all(e, all);
        make_own(all);
        all.end();
      }));
    };
    CHECK(e.submit([&] { blocks ? blocking(forks) : forks(); }) == submit_result::accepted);
    e.drain();
    CHECK(status == 0);
  }
  CHECK(e.run([] { return 1; }).get() == 1); // the parent's own page is as it was
}

TEST_CASE("fork: a log hook may fork while its engine is made, and the child makes an engine") {
  profile warns = small_profile(1);
  warns.engines.per = machine_part::package; // for a set: an engine by itself warns
  int forks = 0;
  engine_hooks hooks;
  hooks.log = [&](std::string_view) {
    ++forks;
    CHECK(tests::exit_status(tests::child_that([] {
            answers all;
            make_own(all);
            all.end();
          })) == 0);
  };
  engine e(warns, hooks);
  CHECK(forks == 1);
  CHECK(e.run([] { return 1; }).get() == 1);
}

TEST_CASE("fork: in a child's child neither of the two older engines does anything") {
  engine first(small_profile(2));
  const int status = tests::exit_status(tests::child_that([&] {
    answers all;
    engine second(small_profile(2));
    WANT(second.run([] { return 1; }).get() == 1);
    call_all(first, all);
    const pid_t child = ::fork();
    if (child == 0) {
      answers of_child;
      call_all(first, of_child);
      call_all(second, of_child);
      make_own(of_child);
      of_child.end();
    }
    int code = -1;
    WANT(::waitpid(child, &code, 0) == child && code == 0);
    WANT(second.run([] { return 2; }).get() == 2);
    all.end();
  }));
  CHECK(status == 0);
  CHECK(first.run([] { return 3; }).get() == 3);
}

TEST_CASE(
    "fork: a future that was not ready throws `not_run` in the child, and gives its value in the parent") {
  engine e(small_profile(1));
  gate held;
  auto f = e.run([&] {
    held.pass();
    return 7;
  });
  auto other = e.run([] { return 8; });
  for (const process_fork make : {&::fork, &::_Fork})
    CHECK(tests::exit_status(tests::child_that(
              [&] {
                answers all;
                WANT(!f.ready() && f.wait_for(1s));
                WANT(is_not_run([&] { f.get(); }));
                if (make == &::fork) {
                  engine own(small_profile(1));
                  WANT(is_not_run([&] {
                    sync_wait(own, [](future<int> awaited) -> task<int> {
                      co_return co_await std::move(awaited);
                    }(std::move(other)));
                  }));
                }
                all.end();
              },
              make)) == 0);
  held.open();
  CHECK(f.get() == 7);
  CHECK(other.get() == 8);
}
