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
#include <cstdint>
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
  int told[2];
  REQUIRE(::pipe(told) == 0);
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
    o.read_only = "127.0.0.1:0";
    o.agent = "127.0.0.1:0";
    const admin::server server(e, o);
    const std::uint16_t ports[]{server.port(), server.agent_port()};
    if (::write(told[1], ports, sizeof ports) != sizeof ports) std::_Exit(102);
    for (int i = 0; i < 8; ++i) static_cast<void>(e.submit([&] { blocking([&] { never.acquire(); }); }));
    while (e.health().state != health_state::wedged || e.metrics().spares_exhausted == 0)
      std::this_thread::sleep_for(1ms);
    take_all_memory();
    ready.tell();
    for (;;) ::pause();
  });
  ready.wait();
  std::uint16_t ports[2];
  REQUIRE(::read(told[0], ports, sizeof ports) == sizeof ports);
  for (const int end : told) ::close(end);
  const std::string path = socket_of(child);
  const auto asked = [](const client& by, const std::string& what, const std::string& fields = "",
                        const std::string& body = "") {
    CAPTURE(what);
    const auto begin = std::chrono::steady_clock::now();
    std::string answer = ask(by, what, "Host: localhost\r\n" + fields, body);
    CHECK(std::chrono::steady_clock::now() - begin < 1s);
    return answer;
  };
  for (int round = 0; round < 3; ++round) {
    for (const char* what : {"/health/live", "/health/ready", "/metrics", "/load", "/topology", "/live", "/",
                             "/dump", "/profile"}) {
      CAPTURE(what);
      const std::string get = std::string("GET ") + what;
      const int status = std::string(what).starts_with("/health/") ? 503 : 200;
      CHECK(is(asked(client(path), get), status));
      const bool by_tcp = std::string(what) != "/dump" && std::string(what) != "/profile";
      CHECK(is(asked(client(ports[0]), get), by_tcp ? status : 404));
    }
    const std::string page = asked(client(path), "GET /", "Accept: text/html\r\n");
    CHECK(is(page, 200));
    CHECK(page.size() > 10'000);
    for (const char* what : {"/dump", "/metrics", "/load"})
      CHECK(is(asked(client(path), std::string("GET ") + what, "Accept: application/json\r\n"), 200));
    CHECK(is(asked(client(path), "PUT /profile", "", "name: next\nworkers: {pin: none}\n"), 200));
    CHECK(is(asked(client(path), "PUT /profile?revert_after=1h", "", "name: tried\nworkers: {pin: none}\n"),
             200));
    CHECK(is(asked(client(path), "PUT /profile", "", "nonsense: 1\n"), 422));
    CHECK(is(asked(client(path), "GET /trace?seconds=1"), 503)); // it needs a thread
    CHECK(client(ports[1]).rest().starts_with("ready up "));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::unlink(path.c_str());
}
