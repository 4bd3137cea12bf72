#include "child_process.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace corewise;
using namespace corewise::tests;

namespace {

using clock_type = std::chrono::steady_clock;

bool blocks(const sigset_t& mask, int number) { return ::sigismember(&mask, number) == 1; }

sigset_t mask_here() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

/// Returns the mask that a task finds on a worker.
sigset_t mask_on_worker(const profile& p, const engine_hooks& hooks = {}) {
  engine e(p, hooks);
  return e.run([] { return mask_here(); }).get();
}

int exit_status_of(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

std::atomic<int> handled_on_workers{0};
pthread_t main_thread;

void note_handler(int) {
  if (::pthread_equal(::pthread_self(), main_thread) == 0) ++handled_on_workers;
}

void handle(int number) {
  struct sigaction action{};
  action.sa_handler = &note_handler;
  ::sigaction(number, &action, nullptr);
}

} // namespace

TEST_CASE("signals: a program blocks its signals and waits for them, though it has made an engine before") {
  const pid_t child = child_that([] {
    const engine e(small_profile(2));
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &own, nullptr);
    ::kill(::getpid(), SIGTERM);
    int number = 0;
    ::sigwait(&own, &number);
    std::_Exit(number == SIGTERM ? 0 : 1);
  });
  CHECK(exit_status_of(child) == 0);
}

TEST_CASE(
    "signals: workers block all but what a thread causes, profilers and limits send, or the engine asks") {
  const sigset_t before = mask_here();
  profile p = small_profile(1);
  sigset_t mask = mask_on_worker(p);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGALRM, SIGIO, SIGRTMIN + 1})
    CHECK_MESSAGE(blocks(mask, number), number);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF, SIGVTALRM,
                           SIGXCPU, SIGURG, SIGPIPE})
    CHECK_MESSAGE(!blocks(mask, number), number);
  p.debug.stack_signal = SIGUSR2;
  CHECK_FALSE(blocks(mask_on_worker(p), SIGUSR2));
  engine_hooks hooks;
  hooks.on_worker_start = [](worker_id) {
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, SIGUSR1);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  };
  CHECK_FALSE(blocks(mask_on_worker(p, hooks), SIGUSR1));
  const sigset_t after = mask_here();
  for (int number = 1; number < SIGRTMIN; ++number) CHECK(blocks(before, number) == blocks(after, number));
}

TEST_CASE("signals: handlers of faults and of profilers run on workers") {
  const pid_t child = child_that([] {
    main_thread = ::pthread_self();
    handle(SIGSEGV);
    handle(SIGPROF);
    engine e(small_profile(1));
    e.run([] { ::raise(SIGSEGV); }).get();
    if (handled_on_workers != 1) std::_Exit(1);
    const itimerval each_millisecond{.it_interval = {0, 1000}, .it_value = {0, 1000}};
    ::setitimer(ITIMER_PROF, &each_millisecond, nullptr);
    e.run([] {
       const auto until = clock_type::now() + std::chrono::seconds{20};
       while (handled_on_workers < 3 && clock_type::now() < until) continue;
     }).get();
    std::_Exit(handled_on_workers >= 3 ? 0 : 2);
  });
  CHECK(exit_status_of(child) == 0);
}

TEST_CASE("signals: a child that a task forks has the mask of the thread that made the engine") {
  engine e(small_profile(1));
  const bool made_it_blocks = blocks(mask_here(), SIGTERM);
  const pid_t child =
      e.run([made_it_blocks] {
         return child_that([&] {
           const sigset_t mask = mask_here();
           std::_Exit(blocks(mask, SIGTERM) == made_it_blocks && !blocks(mask, SIGCHLD) ? 0 : 1);
         });
       }).get();
  CHECK(exit_status_of(child) == 0);
}

TEST_CASE("signals: a shell that a task spawns with an empty mask dies of SIGTERM") {
  engine e(small_profile(1));
  const pid_t shell =
      e.run([] {
         posix_spawnattr_t how;
         ::posix_spawnattr_init(&how);
         sigset_t none;
         ::sigemptyset(&none);
         ::posix_spawnattr_setsigmask(&how, &none);
         ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
         const char* const command[] = {"sh", "-c", "while :; do :; done", nullptr};
         pid_t child = 0;
         if (::posix_spawn(&child, "/bin/sh", nullptr, &how, const_cast<char* const*>(command), environ) != 0)
           std::abort();
         ::posix_spawnattr_destroy(&how);
         return child;
       }).get();
  REQUIRE(::kill(shell, SIGTERM) == 0);
  const int status = exit_status_of(shell);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}
