// Engines whose threads are stopped, interrupted and kept from running, and to which the system gives too little, each in a
// process of its own: they do their work, or say at the start that they cannot.

#include "child_process.hpp"
#include "runtime/following.hpp"
#include "sanitized.hpp"
#include "threads/used.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

profile watched() {
  profile p;
  p.workers.total = 2;
  p.blocking.stuck_after = 100ms;
  return p;
}

/// Uses engines for that long. Returns 0, or what went wrong in one of them.
int used_for(std::chrono::milliseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
    if (const int wrong = used(watched(), ""); wrong != 0) return wrong;
  return 0;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
    threads.push_back(std::stoi(entry.path().filename()));
  return threads;
}

void set_limit(decltype(RLIMIT_NOFILE) which, rlim_t most) {
  const rlimit limit{most, most};
  if (::setrlimit(which, &limit) != 0) std::_Exit(100);
}

std::size_t address_space() {
  std::size_t pages = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Sets the size of the stacks of threads, as RLIMIT_STACK (`ulimit -s`) does for a program that begins.
void set_stacks(std::size_t bytes) {
  pthread_attr_t all;
  ::pthread_attr_init(&all);
  if (::pthread_attr_setstacksize(&all, bytes) != 0 || ::pthread_setattr_default_np(&all) != 0)
    std::_Exit(100);
}

std::size_t own_stack() {
  pthread_attr_t own;
  std::size_t bytes = 0;
  if (::pthread_getattr_np(::pthread_self(), &own) != 0 || ::pthread_attr_getstacksize(&own, &bytes) != 0)
    return 0;
  ::pthread_attr_destroy(&own);
  return bytes;
}

/// Leaves the process no descriptor, until it ends. Use in a child process.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int first_free = ::dup(0);
    ::close(first_free);
    const rlimit few{static_cast<rlim_t>(first_free) + 10, before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) std::_Exit(100);
    for (int d = ::dup(0); d >= 0; d = ::dup(0)) taken_.push_back(d);
    if (errno != EMFILE) std::_Exit(100);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;
  ~no_descriptors() {
    for (const int d : taken_) ::close(d);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

std::uint64_t workers_that_take_tasks(const engine& e) { return e.metrics().total().active; }

/// Returns what the error of a constructor says; empty: there was none.
std::string error_of(const profile& p) {
  try {
    const engine e(p);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

} // namespace

TEST_CASE("hostile host: under a storm of signals each call is taken up again, and nothing is lost") {
  const pid_t child = child_that([] {
    ::alarm(60);
    static std::atomic<int> taken{0}; // of a signal that threads of an engine do not block
    struct sigaction act{};
    act.sa_handler = [](int) { ++taken; }; // without SA_RESTART: calls end with EINTR
    ::sigaction(SIGURG, &act, nullptr);
    const pid_t own = ::gettid();
    std::atomic<bool> over{false};
    std::thread storm([&] {
      while (!over) {
        for (const pid_t t : threads_of(::getpid()))
          if (t != ::gettid() && t != own) ::syscall(SYS_tgkill, ::getpid(), t, SIGURG);
        std::this_thread::sleep_for(20us);
      }
    });
    int wrong = 0;
    while (wrong == 0 && taken < 2000) wrong = used(watched(), "");
    over = true;
    storm.join();
    std::_Exit(wrong);
  });
  CHECK(exit_status(child) == 0);
}

TEST_CASE("hostile host: a debugger that stops each thread again and again does no harm") {
  const pid_t child = child_that([] {
    ::alarm(60);
    std::_Exit(used_for(2s));
  });
  int stops = 0;
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(1ms))
    for (const pid_t t : threads_of(child)) {
      if (::ptrace(PTRACE_SEIZE, t, nullptr, nullptr) != 0) continue; // it has ended
      int status = 0;
      if (::ptrace(PTRACE_INTERRUPT, t, nullptr, nullptr) == 0 && ::waitpid(t, &status, __WALL) == t &&
          WIFSTOPPED(status)) {
        std::this_thread::sleep_for(1ms);
        ++stops;
        ::ptrace(PTRACE_DETACH, t, nullptr, nullptr);
      }
    }
  if (stops == 0) MESSAGE("skipped: no thread can be traced here");
  CHECK(exit_status(child) == 0);
}

TEST_CASE("hostile host: without threads for its workers an engine does not begin; without spare ones tasks "
          "go on") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: to become a user with no processes takes root");
    return;
  }
  const auto as_nobody = [](auto act) {
    return exit_status(child_that([&] {
      ::alarm(60);
      if (::setresuid(54'321, 54'321, 54'321) != 0) std::_Exit(100); // no such user has other processes
      std::_Exit(act());
    }));
  };
  CHECK(as_nobody([] {
          set_limit(RLIMIT_NPROC, 2);
          try {
            const engine e(watched());
          } catch (const std::system_error& e) {
            return e.code().value() == EAGAIN ? 0 : 2;
          }
          return 1;
        }) == 0);
  CHECK(as_nobody([] {
          std::atomic<int> lines{0};
          engine_hooks hooks;
          const std::string_view why = "and the system gives no more threads";
          hooks.log = [&](std::string_view line) {
            lines += line.find(why) != std::string_view::npos ? 1 : 0;
          };
          engine e(watched(), hooks);
          e.run([] {}).get(); // the supervisor is there
          set_limit(RLIMIT_NPROC, 1);
          gate held;
          std::atomic<int> ran{0};
          for (int i = 0; i < 2; ++i)
            static_cast<void>(e.submit([&] { blocking([&] { held.pass(); }), ++ran; }));
          held.wait_for(2);
          for (int i = 0; i < 8; ++i)
            static_cast<void>(e.submit([&] { blocking([] { std::this_thread::sleep_for(20ms); }), ++ran; }));
          if (!within(20s, [&] { return lines != 0; })) return 1;
          std::this_thread::sleep_for(300ms); // the episode goes on, and is not reported again
          const metrics_snapshot m = e.metrics();
          const std::vector<std::string> warnings = e.warnings();
          const auto warned = [&](std::string_view part) {
            return std::ranges::count_if(warnings,
                                         [&](const std::string& w) { return w.find(part) != w.npos; });
          };
          const int wrong = 2 * int{lines != 1} + 4 * int{warned(why) != 1} +
                            8 * int{warned("a worker that blocks got no spare thread") != 1} +
                            16 * int{m.spares_exhausted != 1 || m.tasks_waiting_for_a_seat != 8};
          held.open();
          e.drain();
          return wrong + 32 * int{ran != 10 || e.metrics().tasks_waiting_for_a_seat != 0};
        }) == 0);
}

TEST_CASE("hostile host: with small stacks an engine does its work, and with stacks that do not fit it does "
          "not begin") {
  if (sanitized) {
    MESSAGE("skipped: a sanitizer needs more of the stack");
    return;
  }
  const pid_t small = child_that([] {
    ::alarm(60);
    constexpr std::size_t bytes = 64 << 10;
    set_stacks(bytes);
    if (engine(watched()).run(own_stack).get() > bytes) std::_Exit(101);
    std::_Exit(used(watched(), ""));
  });
  CHECK(exit_status(small) == 0);
  const pid_t large = child_that([] {
    ::alarm(60);
    set_stacks(std::size_t{1} << 47); // more than there are addresses
    try {
      const engine e(watched());
    } catch (const std::system_error& e) {
      std::_Exit(e.code().value() == EAGAIN ? 0 : 2);
    }
    std::_Exit(1);
  });
  CHECK(exit_status(large) == 0);
}

TEST_CASE("hostile host: in an address space that is full a submission throws, and later all goes on") {
  if (sanitized) {
    MESSAGE("skipped: a sanitizer needs the whole address space");
    return;
  }
  const pid_t child = child_that([] {
    ::alarm(60);
    int wrong = 0;
    {
      engine e(watched());
      std::atomic<std::uint64_t> ran{0};
      gate held;
      for (int i = 0; i < 2; ++i) static_cast<void>(e.submit([&] { held.pass(); }));
      held.wait_for(2);
      rlimit before{};
      ::getrlimit(RLIMIT_AS, &before);
      const rlimit full{address_space(), before.rlim_max};
      ::setrlimit(RLIMIT_AS, &full);
      std::uint64_t accepted = 0;
      bool threw = false;
      struct large {
        char bytes[900];
      };
      for (int i = 0; i < 2'000'000 && !threw; ++i) try {
          accepted +=
              e.submit([&ran, l = large{}] { ran += l.bytes[0] == 0 ? 1 : 0; }) == submit_result::accepted;
        } catch (const std::bad_alloc&) {
          threw = true;
        }
      held.open();
      e.drain();
      ::setrlimit(RLIMIT_AS, &before);
      wrong = int{!threw} + 2 * int{ran != accepted} + 4 * int{e.run([] { return 7; }).get() != 7};
    }
    std::_Exit(wrong);
  });
  CHECK(exit_status(child) == 0);
}

TEST_CASE("hostile host: without descriptors what held before holds on, and with some the engine follows "
          "again") {
  if (objects_checked) {
    MESSAGE("skipped: without descriptors UndefinedBehaviorSanitizer takes each object for none");
    return;
  }
  const recorded_host host(8);
  host.quota("300000 100000");
  host.allow("0-5");
  const pid_t child = child_that([&] {
    ::alarm(60);
    profile p = waiting(host);
    p.sharing.file = host.root() + "/shares"; // opened once
    engine e(p);
    steady_load load(e);
    static_cast<void>(e.refresh());
    int wrong = workers_that_take_tasks(e) == 3 ? 0 : 1;
    for (const char* then : {"max 100000", "100000 100000"}) {
      {
        const no_descriptors none;
        wrong |= e.refresh() ? 2 : 0;
      }
      host.quota(then);
      const auto before = workers_that_take_tasks(e);
      {
        const no_descriptors none;
        wrong |= e.refresh() ? 2 : 0;
        wrong |= used(e);
        wrong |= workers_that_take_tasks(e) == before ? 0 : 4;
      }
      const std::optional<machine_change> seen = e.refresh();
      wrong |= seen && seen->workers_now == (then[0] == 'm' ? 6 : 1) ? 0 : 8;
    }
    wrong |= load.ended() ? 0 : 16;
    std::_Exit(wrong);
  });
  CHECK(exit_status(child) == 0);
}

TEST_CASE("hostile host: without descriptors an engine that needs some does not begin, and says why") {
  if (objects_checked) {
    MESSAGE("skipped: without descriptors UndefinedBehaviorSanitizer takes each object for none");
    return;
  }
  const recorded_host host(8);
  const pid_t child = child_that([&] {
    ::alarm(60);
    const std::string file = host.root() + "/shares";
    profile sharing = watched();
    sharing.sharing.file = file;
    int wrong = 0;
    {
      const no_descriptors none;
      if (!error_of(waiting(host)).starts_with("topology source live: there is no CPU below " + host.root()))
        wrong |= 1;
      if (error_of(sharing) != "sharing.file " + file + ": cannot be opened: Too many open files") wrong |= 2;
    }
    if (!error_of(waiting(host)).empty() || !error_of(sharing).empty()) wrong |= 4;
    std::_Exit(wrong);
  });
  CHECK(exit_status(child) == 0);
}
