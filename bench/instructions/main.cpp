// Does operations of one kind, so that Callgrind can count their instructions: bench/instructions/check runs
// it.
//
//   instruction_counts list      the kinds, a line each: name, size, what an operation is
//   instruction_counts KIND      writes the counts of `size` operations, then of twice as many

#include "counting.hpp"
#include "kind.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string_view>

using namespace corewise;
using namespace corewise::bench;

namespace {

constexpr std::array all = {&chained_spawn,
                            &spawn_many,
                            &spawn_hinted,
                            &spawn_labelled,
                            &outside_submitter,
                            &outside_worker,
                            &wake_submitter,
                            &wake_worker,
                            &steal,
                            &yields,
                            &awaits,
                            &bound_value,
                            &when_all_of_two,
                            &scope_fork,
                            &oneshot_round_trip,
                            &oneshot_halves,
                            &channel_alone,
                            &channel_hand_over,
#ifdef COREWISE_HAS_IO
                            &write_and_read_in_place,
#endif
                            &short_blocking};

/// Ties the process to one CPU, so that the engine sees the same machine everywhere.
void stay_on_one_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(std::max(0, ::sched_getcpu())), &one);
  static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

/// The default profile, except that nothing happens by time: no spinning, no time-outs, no worker that looks
/// after others. It has one domain, however many caches the machine has.
profile profile_for(const kind& k) {
  profile p;
  p.topology.groups.group_by = domain_kind::machine;
  p.workers.total = k.workers;
  p.idle.spin = std::chrono::nanoseconds{0};
  p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  p.queues.lifo_age.reset();
  p.blocking.stuck_after.reset();
  p.steal.batch_max = 1;
  return p;
}

/// How many tasks teach a new engine how long its tasks are: at first it takes them for long ones.
constexpr std::uint64_t to_learn = 100'000;

void count(const kind& k) {
  engine e(profile_for(k));
  if (k.workers == 1) chained_spawn.run(e, to_learn);
  k.run(e, k.size);
  begin_instrumentation();
  k.run(e, k.size);
  write_counts();
  k.run(e, 2 * k.size);
  write_counts();
  std::fflush(stdout);
  std::_Exit(0); // threads may be in a wait whose time does not pass
}

} // namespace

int main(int words, char** word) {
  const std::string_view wanted = words == 2 ? word[1] : "";
  if (wanted == "list") {
    for (const kind* k : all)
      std::printf("%s\t%llu\t%s\n", k->name, static_cast<unsigned long long>(k->size), k->operation);
    return 0;
  }
  const auto found = std::ranges::find_if(all, [&](const kind* k) { return wanted == k->name; });
  if (found == all.end()) {
    std::fputs("usage: instruction_counts list|KIND\n", stderr);
    return 2;
  }
  stay_on_one_cpu();
  count(**found);
}
