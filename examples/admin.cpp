// A daemon that operators can look into, by HTTP: metrics and health on a port, the rest on a socket of its
// user.
//
//     admin [PORT [SOCKET]]
#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace std::chrono_literals;

/// What the daemon does all day.
corewise::task<> work(corewise::engine& engine) {
  for (;;) {
    co_await corewise::sleep_for(10ms);
    static_cast<void>(engine.submit([] {}, {.name = "tidy up"}));
  }
}

void show(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

} // namespace

int main(int argc, char** argv) try {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  corewise::engine engine(corewise::profile{});
  corewise::admin::options o;
  o.control = argc > 2 ? argv[2] : "corewise.sock";
  o.read_only = std::string("127.0.0.1:") + (argc > 1 ? argv[1] : "0");
  o.log = show;
  const corewise::admin::server server(engine, o);
  static_cast<void>(engine.submit(work(engine), {.daemon = true}));

  std::printf("curl http://127.0.0.1:%u/metrics\n", server.port());
  std::printf("curl --unix-socket %s http://localhost/dump\n", o.control.c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  std::printf("ended\n");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "admin: %s\n", error.what());
  return 1;
}
