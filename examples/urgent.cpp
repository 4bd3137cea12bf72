// Urgent queries beside tidying that can wait: both near the data that they use.
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  const std::vector<std::vector<int>> shards(4, std::vector<int>(100'000, 1));
  std::atomic<long> found{0};
  std::atomic<int> tidied{0};
  corewise::engine engine; // what tasks use outlives it

  for (const std::vector<int>& shard : shards) {
    corewise::hint urgent = corewise::near(shard.data()); // where that memory is
    urgent.run_as = corewise::task_class::latency;        // before what is normal
    const auto query = [&] { found += std::accumulate(shard.begin(), shard.end(), 0L); };
    if (engine.submit(query, urgent) != corewise::submit_result::accepted) return 1;

    // Runs when there is nothing else, and once in a while in between: it is never starved.
    const auto tidy = [&] { ++tidied; };
    if (engine.submit(tidy, corewise::near(shard.data(), {.run_as = corewise::task_class::background})) !=
        corewise::submit_result::accepted)
      return 1;
  }
  engine.drain();

  const corewise::metrics_snapshot done = engine.metrics();
  std::printf("%ld found by %llu urgent tasks, %d shards tidied\n", found.load(),
              static_cast<unsigned long long>(done.total().latency_runs), tidied.load());
  return found == 400'000 && tidied == 4 ? 0 : 1;
}
