// A daemon's executor in ten lines.
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <cstdio>

int main() {
  std::atomic<int> answered{0};

  corewise::engine engine; // workers for this machine; a profile tunes them
  for (int request = 0; request < 1000; ++request) {
    const auto result = engine.submit([&answered] { ++answered; });
    if (result != corewise::submit_result::accepted) std::puts("busy, try later");
  }
  engine.drain(); // until all of it is done
  std::printf("%d requests on %zu workers\n", answered.load(), engine.workers().size());

  return answered == 1000 ? 0 : 1;
}
