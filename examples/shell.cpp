// A daemon waits for its own signals, and a task spawns a program that a signal ends.
#include <corewise/engine/engine.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

/// Starts a command in a shell that takes all signals. A worker's own mask would block most of them there.
pid_t spawn(const char* command) {
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  const char* const line[] = {"sh", "-c", command, nullptr};
  pid_t child = -1;
  if (posix_spawn(&child, "/bin/sh", nullptr, &how, const_cast<char* const*>(line), environ) != 0) child = -1;
  posix_spawnattr_destroy(&how);
  return child;
}

} // namespace

int main() {
  corewise::engine engine;

  const pid_t child = engine.run([] { return spawn("exec sleep 60"); }).get();
  int status = 0;
  if (child < 0 || kill(child, SIGTERM) != 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  std::printf("the shell died of SIGTERM: %s\n",
              WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? "yes" : "no");

  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  kill(getpid(), SIGTERM);
  int number = 0;
  sigwait(&ours, &number);
  std::printf("told to stop: %s\n", number == SIGTERM ? "yes" : "no");
}
