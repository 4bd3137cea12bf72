#include "child_process.hpp"
#include "small_engine.hpp"
#include "threads/stack_signal.hpp"
#include "within.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

std::atomic<int> caught{0};
void count_signal(int) { caught.fetch_add(1); }

bool has_default(int number) {
  struct sigaction now{};
  ::sigaction(number, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

/// The handler that the tests set for a signal, for as long as it lives.
class own_handler {
 public:
  explicit own_handler(int number) : number_(number) {
    struct sigaction ours{};
    ours.sa_handler = &count_signal;
    ::sigaction(number, &ours, &before_);
  }
  own_handler(const own_handler&) = delete;
  own_handler& operator=(const own_handler&) = delete;
  ~own_handler() { ::sigaction(number_, &before_, nullptr); }

  bool is_set() const {
    struct sigaction now{};
    ::sigaction(number_, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == &count_signal;
  }

 private:
  int number_;
  struct sigaction before_{};
};

} // namespace

TEST_CASE("stack signal: the report of a stuck worker shows its stack if the profile asks for it") {
  std::atomic<bool> reported{false};
  std::string text;
  engine_hooks hooks;
  hooks.log = [&](std::string_view line) {
    if (reported) return;
    text = line;
    reported = true;
  };
  profile p = small_profile(1);
  p.blocking.stuck_after = 5ms;
  p.debug.stack_signal = SIGUSR1;
  CHECK(has_default(SIGUSR1));
  {
    engine e(p, hooks);
    CHECK_FALSE(has_default(SIGUSR1));
    // The task must be in user code or in a call that may be interrupted; else the answer would come too
    // late.
    REQUIRE(e.submit([&] {
      while (!reported) std::this_thread::yield();
    }) == submit_result::accepted);
    e.drain();
  }
  CHECK(has_default(SIGUSR1));
  CAPTURE(text);
  const std::size_t stack = text.find("its stack:\n  #0 ");
  REQUIRE(stack != std::string::npos);
  CHECK(text.find("engine_tests", stack) != std::string::npos);
}

TEST_CASE("stack signal: without the setting no signal handler is installed") {
  struct sigaction before[65];
  struct sigaction after[65];
  const auto read_all = [](struct sigaction(&all)[65]) {
    for (int n = 1; n < 65; ++n) {
      all[n] = {};
      ::sigaction(n, nullptr, &all[n]);
    }
  };
  read_all(before);
  {
    engine e(small_profile(2));
    REQUIRE(e.submit([] { blocking([] {}); }) == submit_result::accepted);
    e.drain();
    read_all(after);
  }
  for (int n = 1; n < 65; ++n) CHECK((before[n].sa_handler == after[n].sa_handler));
}

TEST_CASE(
    "stack signal: other signals of that number reach the earlier handler, which is restored in the end") {
  const own_handler own(SIGUSR2);
  profile p = small_profile(1);
  p.debug.stack_signal = SIGUSR2;
  caught = 0;
  {
    engine first(p);
    {
      engine second(p);
      CHECK_FALSE(own.is_set());
      ::raise(SIGUSR2);
      CHECK(caught == 1);
    }
    CHECK_FALSE(own.is_set()); // the first engine still needs it
    ::raise(SIGUSR2);
    CHECK(caught == 2);
  }
  CHECK(own.is_set());
}

TEST_CASE(
    "stack signal: where the program resets the signal, no thread is asked, and a later engine asks again") {
  // In a child: the signal would end the process.
  for (const auto reset : {SIG_DFL, SIG_IGN}) {
    const pid_t child = tests::child_that([&] {
      const auto now = [] {
        struct sigaction is{};
        ::sigaction(SIGUSR1, nullptr, &is);
        return is.sa_handler;
      };
      bool right = true;
      for (int round = 0; round < 2; ++round) {
        const detail::stack_signal signal(SIGUSR1);
        right = right && now() != SIG_DFL && now() != SIG_IGN;
        std::signal(SIGUSR1, reset);
        right = right && signal.stack_of(::gettid()).empty();
      }
      std::_Exit(right && now() == reset ? 0 : 1);
    });
    CHECK(tests::exit_status(child) == 0);
  }
}

TEST_CASE(
    "stack signal: a thread that has ended or blocks the signal shows no stack, and later ones do again") {
  const detail::stack_signal signal(SIGUSR1);
  std::atomic<pid_t> id{0};
  std::atomic<int> step{0};
  std::thread other([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    id = ::gettid();
    step = 1;
    while (step == 1) std::this_thread::yield();
    ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr); // the late signal comes here
    step = 3;
    while (step == 3) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  CHECK(signal.stack_of(id).empty());
  step = 2;
  while (step != 3) std::this_thread::yield();
  CHECK(within(60s, [&] { return !signal.stack_of(id).empty(); })); // a busy machine may be too late for one
  step = 4;
  other.join();
  CHECK(signal.stack_of(id).empty());
}
