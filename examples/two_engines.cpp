// Two engines in one process, each on CPUs of its own: requests are answered on one half of the machine,
// reports are made on the other, and neither takes time from the other.
#include <corewise/engine/engine.hpp>

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <vector>

namespace {

/// A profile for an engine whose workers are tied to these CPUs.
corewise::profile only_on(const corewise::cpu_set& cpus, const char* name) {
  corewise::profile profile;
  profile.name = name;
  profile.topology.machine.use.cpus = cpus;
  profile.topology.smt = corewise::smt_use::all;
  profile.workers.pin = corewise::pin_to::group;
  return profile;
}

/// Counts how many of 1000 tasks ran on one of these CPUs.
int ran_on(corewise::engine& engine, const corewise::cpu_set& cpus) {
  std::atomic<int> there{0};
  for (int i = 0; i < 1000; ++i) {
    const auto result = engine.submit([&] {
      if (cpus.contains(static_cast<std::uint32_t>(::sched_getcpu()))) ++there;
    });
    if (result != corewise::submit_result::accepted) break;
  }
  engine.drain(); // before `there` goes
  return there;
}

} // namespace

int main() {
  const std::vector<std::uint32_t> all = corewise::discover({}).cpus().to_vector();
  corewise::cpu_set front;
  corewise::cpu_set back;
  for (std::size_t i = 0; i < all.size(); ++i) (i < (all.size() + 1) / 2 ? front : back).insert(all[i]);
  if (back.empty())
    back = front; // a machine with one CPU: both engines are tied to it, and the second one warns

  corewise::engine requests(only_on(front, "requests"));
  corewise::engine reports(only_on(back, "reports"));

  std::printf("requests ran on their CPUs: %d of 1000\n", ran_on(requests, front));
  std::printf("reports ran on their CPUs: %d of 1000\n", ran_on(reports, back));

  // A task of one engine may await work of the other; no thread waits meanwhile.
  const auto both = [&]() -> corewise::task<bool> {
    const bool here = requests.this_worker().has_value();
    const bool there = co_await reports.run([&] { return reports.this_worker().has_value(); });
    co_return here&& there&& requests.this_worker().has_value();
  };
  std::printf("a request had a report made: %s\n", sync_wait(requests, both()) ? "yes" : "no");
}
