#include "small_engine.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

// What builds with assertions say about misuse. A child process each, since it does not survive.

using namespace corewise;

namespace {

#ifdef NDEBUG
constexpr bool asserts = false;
#else
constexpr bool asserts = true;
#endif

/// What a child process that calls `f` writes to its standard error before it aborts; "alive" if it does not abort.
template <class F> std::string last_words(const F& f) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // doctest's handler would speak as well
    ::dup2(ends[1], STDERR_FILENO);
    f();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  std::array<char, 512> some{};
  for (ssize_t n = 0; (n = ::read(ends[0], some.data(), some.size())) > 0;)
    words.append(some.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "alive";
}

bool says(const std::string& words, const char* what) { return words.find(what) != std::string::npos; }

task<int> one() { co_return 1; }
task<> nothing() { co_return; }

} // namespace

TEST_CASE("misuse: builds with assertions notice that a task is awaited, forked or submitted again" *
          doctest::skip(!asserts)) {
  const auto alone = [](task<> work) {
    engine e(small_profile(1));
    sync_wait(e, std::move(work));
  };
  const auto awaits_twice = []() -> task<> {
    task<int> t = one();
    co_await std::move(t);
    co_await std::move(t); // NOLINT(bugprone-use-after-move)
  };
  const auto awaits_moved = []() -> task<> {
    task<int> t = one();
    const task<int> other = std::move(t);
    co_await std::move(t); // NOLINT(bugprone-use-after-move)
  };
  const auto forks_awaited = []() -> task<> {
    task<int> t = one();
    co_await std::move(t);
    co_await when_all(std::move(t), one()); // NOLINT(bugprone-use-after-move)
  };
  CHECK(says(last_words([&] { alone(awaits_twice()); }), "a task is awaited twice"));
  CHECK(says(last_words([&] { alone(awaits_moved()); }), "moved away"));
  CHECK(says(last_words([&] { alone(forks_awaited()); }), "a task is forked that was awaited"));
  CHECK(says(last_words([] {
               engine e(small_profile(1));
               task<> t = nothing();
               static_cast<void>(e.submit(std::move(t)));
               static_cast<void>(e.submit(std::move(t))); // NOLINT(bugprone-use-after-move)
             }),
             "a task is submitted that was moved away or submitted"));
}

TEST_CASE("misuse: builds with assertions notice an exception in a blocking scope that nobody waits for" *
          doctest::skip(!asserts)) {
  const auto leaves = [] {
    engine e(small_profile(1));
    e.run([] {
       blocking_scope s;
       s.fork([] { throw 1; });
     }).get();
  };
  CHECK(says(last_words(leaves), "left without wait()"));
}
