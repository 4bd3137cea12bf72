// Tasks that wait for something outside: there are more of them than workers, and yet no worker stands still.
#include <corewise/engine/engine.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

int main() {
  corewise::profile profile;
  profile.workers.total = 2;
  corewise::engine engine(profile);

  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) {
    const auto result = engine.submit([] {
      // While this waits, a spare thread works in this worker's place.
      corewise::blocking([] { std::this_thread::sleep_for(500ms); });
    });
    if (result != corewise::submit_result::accepted) return 1;
  }
  engine.drain();
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);

  // One after the other on two workers they would take 2 s.
  std::printf("8 waits of 500 ms on 2 workers took %lld ms\n", static_cast<long long>(took.count()));
  return took < 1900ms ? 0 : 1;
}
