// A daemon under systemd: it says when it is ready, and tells the watchdog that it is alive for as long as
// its engine does its work. With `Type=notify` and `WatchdogSec=` in the unit, systemd restarts it when it no
// longer does. Started by hand, it runs as well and tells nobody.
#include <corewise/engine/engine.hpp>

#include <systemd/sd-daemon.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

/// Tells systemd how the engine is. If the engine is wedged it does not say that it is alive, and so systemd
/// ends the daemon when the watchdog's time is over.
void tell(const corewise::engine& engine) {
  const corewise::health_report health = engine.health();
  for (const std::string& why : health.why) sd_notifyf(0, "STATUS=%s", why.c_str());
  if (health.state != corewise::health_state::wedged) sd_notify(0, "WATCHDOG=1");
}

} // namespace

int main() {
  std::atomic<int> told{0};
  std::atomic<int> served{0};
  corewise::engine engine;

  // Twice in the watchdog's time. A thread of its own would do as well; a timer of the engine would not: it
  // shows nothing when all workers stand.
  std::uint64_t limit_us = 0;
  const bool watched = sd_watchdog_enabled(0, &limit_us) > 0;
  const auto beat = watched ? std::chrono::microseconds{limit_us / 2} : 10ms;
  std::jthread watch([&](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    do {
      tell(engine);
      ++told;
    } while (
        !stopped.wait_for(lock, stop, beat, [&] { return stop.stop_requested(); })); // a stop ends the wait
  });
  sd_notify(0, "READY=1");

  for (int i = 0; i < 100; ++i)
    if (engine.submit([&] { ++served; }) != corewise::submit_result::accepted) return 1;
  engine.drain();

  while (told == 0) std::this_thread::yield();
  std::printf("%d served, the engine is %s\n", served.load(),
              std::string(to_string(engine.health().state)).c_str());
  sd_notify(0, "STOPPING=1");
}
