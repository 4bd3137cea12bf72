// Work that is worth nothing when it comes too late: not begun at all, or told to stop.
#include <corewise/engine/deadline.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>

#include <atomic>
#include <cstdio>

using namespace std::chrono_literals;
using corewise::task;

namespace {

/// Works in steps, and looks before each whether it should go on.
task<int> steps(std::stop_token stop) {
  int done = 0;
  for (bool goes_on = true; goes_on; ++done) goes_on = co_await corewise::sleep_for(1ms, stop);
  co_return done;
}

/// What is awaited within is told to stop after 20 ms, and answers what it has.
task<int> some_steps() { co_return co_await corewise::with_deadline(20ms, steps); }

} // namespace

int main() {
  const auto now = std::chrono::steady_clock::now();
  std::atomic<int> answered{0};
  std::atomic<int> turned_away{0};
  corewise::engine engine;

  // Every other one of these requests has already waited too long when its turn comes.
  for (int i = 0; i < 100; ++i) {
    corewise::hint in_time;
    in_time.deadline = i % 2 == 0 ? now : now + 1h;
    const auto result = engine.submit([&] { ++answered; }, in_time, [&] { ++turned_away; });
    if (result != corewise::submit_result::accepted) return 1;
  }
  engine.drain();
  std::printf("%d answered, %d turned away, %llu expired\n", answered.load(), turned_away.load(),
              static_cast<unsigned long long>(engine.metrics().total().expired));

  try {
    engine.run([] { return 42; }, {.deadline = now}).get();
  } catch (const corewise::deadline_expired& late) {
    std::printf("%s\n", late.what());
  }
  std::printf("stopped after some steps: %s\n", sync_wait(engine, some_steps()) > 0 ? "yes" : "no");
}
