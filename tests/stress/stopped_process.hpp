#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

// A child process that a test stops and continues.

namespace corewise::tests {

/// One process tells the other that something is so.
struct pipe_ends {
  int read = -1;
  int write = -1;

  pipe_ends() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    read = ends[0];
    write = ends[1];
  }
  /// Returns at the byte of the other process, or at its end.
  void wait() const {
    char byte = 0;
    while (::read(read, &byte, 1) < 0) {
    }
  }
  void tell() const {
    while (::write(write, "", 1) < 0) {
    }
  }
};

/// Stops the child, all its threads, and continues it after so long. Caller: its parent.
inline void stop_for(pid_t child, std::chrono::milliseconds pause) {
  REQUIRE(::kill(child, SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  std::this_thread::sleep_for(pause);
  REQUIRE(::kill(child, SIGCONT) == 0);
}

/// Waits until the child has ended by itself. Caller: its parent.
inline int exit_status(pid_t child) {
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

} // namespace corewise::tests
