// An admin server in a daemon that can do nothing more.

#include "asking.hpp"
#include "child_process.hpp"
#include "sanitized.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

std::string socket_of(pid_t process) { return "/tmp/corewise_memory_test." + std::to_string(process); }

/// Lets this process get no more address space.
void limit_memory() {
  std::size_t pages = 0;
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  if (f == nullptr || std::fscanf(f, "%zu", &pages) != 1) std::_Exit(100);
  std::fclose(f);
  const rlim_t bytes = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const rlimit full{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &full) != 0) std::_Exit(101);
}

/// Returns whether the system keeps to that: an emulator of processors may not.
bool limits_hold() {
  return exit_status(child_that([] {
           limit_memory();
           std::_Exit(std::malloc(std::size_t{1} << 30) == nullptr ? 0 : 1);
         })) == 0;
}

/// Takes what is left in the heap.
void take_all_memory() {
  limit_memory();
  for (std::size_t size = 1 << 20; size >= 16; size /= 2)
    while (std::malloc(size) != nullptr) {
    }
}

} // namespace

TEST_CASE("admin: with stuck workers, without spare threads and without memory it answers within a second") {
  if (sanitized || !limits_hold()) {
    MESSAGE("skipped: a sanitizer needs the whole address space, or the system does not limit it");
    return;
  }
  const signal_pipe ready;
  const pid_t child = child_that([&] {
    ::alarm(60);
    ::mallopt(M_ARENA_MAX, 1); // else the server's thread has memory of its own
    std::counting_semaphore<> never(0);
    profile p = small(2);
    p.blocking.stuck_after = 50ms;
    p.blocking.spares_max = 1;
    engine e(p);
    admin::options o;
    o.control = socket_of(::getpid());
    const admin::server server(e, o);
    for (int i = 0; i < 8; ++i) static_cast<void>(e.submit([&] { blocking([&] { never.acquire(); }); }));
    while (e.health().state != health_state::wedged || e.metrics().spares_exhausted == 0)
      std::this_thread::sleep_for(1ms);
    take_all_memory();
    ready.tell();
    for (;;) ::pause();
  });
  ready.wait();
  const std::string path = socket_of(child);
  for (int round = 0; round < 3; ++round)
    for (const char* what :
         {"/health/live", "/health/ready", "/metrics", "/dump", "/load", "/profile", "/topology", "/live"}) {
      CAPTURE(what);
      const auto begin = std::chrono::steady_clock::now();
      const std::string answer = ask(client(path), std::string("GET ") + what, "");
      CHECK(std::chrono::steady_clock::now() - begin < 1s);
      CHECK(is(answer,
               std::string(what) == "/health/live" || std::string(what) == "/health/ready" ? 503 : 200));
    }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::unlink(path.c_str());
}
