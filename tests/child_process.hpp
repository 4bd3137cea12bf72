#pragma once

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

// Child processes of tests: how to make, stop and continue them, and to read their exit status.

namespace corewise::tests {

/// Lets one process tell the other that something is so.
class signal_pipe {
 public:
  signal_pipe() {
    if (::pipe(ends_) != 0) std::abort();
  }
  signal_pipe(const signal_pipe&) = delete;
  signal_pipe& operator=(const signal_pipe&) = delete;
  ~signal_pipe() {
    for (const int end : ends_) ::close(end);
  }
  /// Waits until the other process has told it once more.
  void wait() const {
    char byte = 0;
    while (::read(ends_[0], &byte, 1) < 0) {
    }
  }
  void tell() const {
    while (::write(ends_[1], "", 1) < 0) {
    }
  }

 private:
  int ends_[2];
};

/// Makes a child process by `fork`, which calls `act` and dies with its parent. `act` ends the process.
template <class F> pid_t child_that(const F& act, pid_t (*fork)() = &::fork) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  act();
  std::abort();
}

/// Stops the child with all its threads, and continues it after `pause`. Returns how long it did not run, at
/// least. Call from its parent.
inline std::chrono::nanoseconds stop_for(pid_t child, std::chrono::milliseconds pause) {
  REQUIRE(::kill(child, SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  const auto stopped = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(pause);
  const auto continued = std::chrono::steady_clock::now();
  REQUIRE(::kill(child, SIGCONT) == 0);
  return continued - stopped;
}

/// Waits until the child has ended by itself. Returns its exit status. Call from its parent.
inline int exit_status(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

} // namespace corewise::tests
