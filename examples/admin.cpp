// A daemon that operators can look into, by HTTP: a map, metrics and health on a port, the rest on a socket of
// its user.
//
//     admin [PORT [SOCKET]]
#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <numbers>
#include <random>
#include <string>

namespace {

using namespace std::chrono_literals;

void compute(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// What the daemon does all day: requests come in waves of 20 s, for a third of the workers on average.
corewise::task<> work(corewise::engine& engine) {
  std::minstd_rand random;
  for (double time = 0; !engine.stop_token().stop_requested(); time += .01) {
    co_await corewise::sleep_for(10ms);
    const double wave = 1 + std::sin(time * 2 * std::numbers::pi / 20);
    const auto requests = static_cast<int>(wave * static_cast<double>(engine.metrics().total().active) * 2);
    for (int i = 0; i < requests; ++i)
      static_cast<void>(engine.submit([us = random() % 3000] { compute(std::chrono::microseconds{us}); },
                                      {.name = "a request"}));
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
  std::printf("open http://127.0.0.1:%u/ in a browser\n", server.port());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  std::printf("ended\n");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "admin: %s\n", error.what());
  return 1;
}
