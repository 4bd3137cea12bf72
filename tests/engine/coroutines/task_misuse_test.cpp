#include "outside.hpp"
#include "small_engine.hpp"

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sync_wait.hpp>
#include <corewise/engine/when_all.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <thread>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

// The messages of builds with assertions about misuse. Each misuse has a child process, since the process
// does not survive it.

using namespace corewise;

namespace {

#ifdef NDEBUG
constexpr bool asserts = false;
#else
constexpr bool asserts = true;
#endif

/// Calls `f` in a child process. Returns the text that the child writes to its standard error before it
/// aborts; "alive" if it does not abort.
template <class F> std::string last_words(const F& f) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // else doctest's handler would print as well
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
task<> ends_at_once() { co_return; }

/// The result of a scope. The moves that bring it out of the body fork within the scope. The last move, which
/// brings it out of `in_scope`, forks when all have ended and the scope is still there.
struct forks_when_moved {
  explicit forks_when_moved(scope& s) noexcept : into(&s) {}
  forks_when_moved(forks_when_moved&& other) noexcept : into(other.into) { into->fork(ends_at_once()); }
  forks_when_moved& operator=(forks_when_moved&&) = delete;
  ~forks_when_moved() = default;
  scope* into;
};

/// Awaits the result of `f`.
template <class F> task<> awaits_once(F f) { static_cast<void>(co_await f()); }

/// Returns the message when a `T` is destroyed while a coroutine awaits the result of `wait(t)`.
template <class T, class F, class... Args> std::string dies_awaited(const F& wait, const Args&... args) {
  return last_words([&] {
    std::optional<T> dies(std::in_place, args...);
    const outside waits(awaits_once([&] { return wait(*dies); }));
    dies.reset();
  });
}

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
  CHECK(says(last_words([&] { alone(awaits_moved()); }),
             "the awaited task was moved from or submitted before"));
  CHECK(says(last_words([&] { alone(forks_awaited()); }), "the forked task was awaited before"));
  CHECK(says(last_words([] {
               engine e(small_profile(1));
               task<> t = ends_at_once();
               static_cast<void>(e.submit(std::move(t)));
               static_cast<void>(e.submit(std::move(t))); // NOLINT(bugprone-use-after-move)
             }),
             "the submitted task was moved from or submitted before"));
}

TEST_CASE("misuse: builds with assertions notice an exception in a blocking scope without a wait" *
          doctest::skip(!asserts)) {
  const auto leaves = [] {
    engine e(small_profile(1));
    e.run([] {
       blocking_scope s;
       s.fork([] { throw 1; });
     }).get();
  };
  CHECK(says(last_words(leaves), "a blocking_scope ended without wait(), and a child has thrown"));
}

TEST_CASE("misuse: builds with assertions notice a fork into a scope that has ended" *
          doctest::skip(!asserts)) {
  static_assert(!std::is_default_constructible_v<scope>);
  const auto forks_late = []() -> task<> {
    co_await in_scope([](scope& s) -> task<forks_when_moved> { co_return forks_when_moved(s); });
  };
  CHECK(says(last_words([&] {
               engine e(small_profile(1));
               sync_wait(e, forks_late());
             }),
             "a task is forked into a scope that has ended"));
}

TEST_CASE("misuse: builds with assertions notice a future that is used again, or awaited by two coroutines" *
          doctest::skip(!asserts)) {
  const char* const again = "the future was moved from, or its value was taken before";
  const char* const by_two = "a future is awaited while another waiter waits for it";
  CHECK(says(last_words([] {
               engine e(small_profile(1));
               future<int> f = e.run(one());
               static_cast<void>(f.get());
               static_cast<void>(f.get());
             }),
             again));
  CHECK(says(last_words([] {
               engine e(small_profile(1));
               const auto twice = [&]() -> task<> {
                 future<int> f = e.run(one());
                 co_await std::move(f);
                 co_await std::move(f); // NOLINT(bugprone-use-after-move)
               };
               sync_wait(e, twice());
             }),
             again));
  CHECK(says(last_words([] {
               engine e(small_profile(1));
               event never;
               const future<void> f = e.run([&]() -> task<> { co_await never.wait(); });
               std::thread waits([&] { f.wait(); });
               for (;;) static_cast<void>(f.wait_for(std::chrono::milliseconds{1}));
             }),
             by_two));
}

TEST_CASE("misuse: builds with assertions notice a second receiver and a second sender of a oneshot" *
          doctest::skip(!asserts)) {
  CHECK(says(last_words([] {
               oneshot<int> shot;
               const outside first(awaits_once([&] { return shot.receive(); }));
               const outside second(awaits_once([&] { return shot.receive(); }));
             }),
             "the value of a oneshot is received a second time"));
  CHECK(says(last_words([] {
               oneshot<int> shot;
               shot.send(1);
               static_cast<void>(sync_wait(shot.receive()));
               static_cast<void>(sync_wait(shot.receive()));
             }),
             "the value of a oneshot is received a second time"));
  CHECK(says(last_words([] {
               oneshot<int> shot;
               shot.send(1);
               shot.send(2);
             }),
             "a second value is sent through a oneshot"));
}

TEST_CASE("misuse: builds with assertions notice an object that is destroyed while a coroutine waits for it" *
          doctest::skip(!asserts)) {
  const auto waits = [](auto& w) { return w.wait(); };
  const char* const awaited = "destroyed while a coroutine waits for it";
  CHECK(says(dies_awaited<event>(waits), awaited));
  CHECK(says(dies_awaited<auto_reset_event>(waits), awaited));
  CHECK(says(dies_awaited<latch>(waits, 1U), awaited));
  CHECK(says(dies_awaited<semaphore>([](semaphore& s) { return s.acquire(); }, 0U), awaited));
  CHECK(says(dies_awaited<barrier>([](barrier& b) { return b.arrive_and_wait(); }, 2U), awaited));
  CHECK(
      says(dies_awaited<channel<int>>([](channel<int>& c) { return c.receive(); }, std::size_t{1}), awaited));
  CHECK(says(dies_awaited<channel<int>>([](channel<int>& c) { return c.send(1); }, std::size_t{0}), awaited));
  CHECK(says(dies_awaited<mutex>([](mutex& m) {
               static_cast<void>(m.try_lock());
               return m.lock();
             }),
             awaited));
}

TEST_CASE("misuse: builds with assertions notice a release, an unlock or a count too many" *
          doctest::skip(!asserts)) {
  CHECK(says(last_words([] { mutex().unlock(); }), "the unlocked mutex was not locked"));
  CHECK(says(last_words([] {
               barrier b(1);
               b.arrive_and_drop();
               b.arrive_and_drop();
             }),
             "more members drop out than the barrier has"));
  CHECK(says(last_words([] {
               barrier b(1);
               b.arrive_and_drop();
               sync_wait(b.arrive_and_wait());
             }),
             "all members have dropped out"));
}
