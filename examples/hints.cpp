// The engine decides where a task runs; a hint tells it what the submitter knows better.
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <cstdio>

int main() {
  std::atomic<std::size_t> run{0};
  corewise::engine engine;
  const std::size_t groups = engine.groups().size();

  // One task for each locality group, to warm up a cache per group, say. A wish, not an order: when a group
  // is busy, its neighbours help.
  for (const corewise::locality_group& group : engine.groups().groups()) {
    corewise::hint near;
    near.group = group.id;
    const auto result = engine.submit(
        [&engine, &run, wanted = group.id] {
          const corewise::worker_id here = engine.this_worker().value();
          std::printf("wanted group %u, ran on worker %u of group %u\n", wanted.value, here.value,
                      engine.workers()[here].group.value);
          ++run;
        },
        near);
    if (result != corewise::submit_result::accepted) return 1;
  }

  // The slowest kind of core will do for a task that is not urgent.
  corewise::hint slowly;
  slowly.kind = 0;
  if (engine.submit([&run] { ++run; }, slowly) != corewise::submit_result::accepted) return 1;

  engine.drain();
  return run == groups + 1 ? 0 : 1;
}
