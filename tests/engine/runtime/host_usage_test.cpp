#include "runtime/host_usage.hpp"
#include "topology/temporary_tree.hpp"

#include <doctest/doctest.h>

#include <array>

using corewise::detail::host_usage;
using corewise::detail::monotonic;
using corewise::tests::temporary_tree;
using namespace std::chrono_literals;

TEST_CASE("host usage: the times of the threads of a seat add up, and it looks once a second") {
  const temporary_tree host;
  host.write("proc/self/task/10/schedstat", "5 1000 1\n");
  host.write("proc/self/task/11/schedstat", "5 70 1\n");
  host_usage usage(host.root());
  const monotonic::time_point begin = monotonic::now();
  std::array<pid_t, 2> threads{10, 11};
  CHECK(usage.look(threads, begin).waited_for_cpu[0] == 1000ns);
  host.write("proc/self/task/10/schedstat", "5 1500 1\n");
  CHECK(usage.look(threads, begin + 999ms).waited_for_cpu[0] == 1000ns);
  CHECK(usage.look(threads, begin + 1s).waited_for_cpu[0] == 1500ns);

  host.write("proc/self/task/12/schedstat", "5 200 1\n"); // a spare thread
  threads[0] = 12;
  CHECK(usage.look(threads, begin + 2s).waited_for_cpu[0] == 1700ns);
  host.write("proc/self/task/10/schedstat", "5 1600 1\n");
  threads[0] = 10; // the first one is back: what it waited before is counted
  CHECK(usage.look(threads, begin + 3s).waited_for_cpu[0] == 1800ns);
  threads[0] = 13; // it has ended meanwhile
  CHECK(usage.look(threads, begin + 4s).waited_for_cpu[0] == 1800ns);
  host.write("proc/self/task/10/schedstat", "5 7 1\n"); // another thread with that number
  threads[0] = 10;
  CHECK(usage.look(threads, begin + 5s).waited_for_cpu[0] == 1800ns);
  host.write("proc/self/task/10/schedstat", "5 9 1\n");
  CHECK(usage.look(threads, begin + 6s).waited_for_cpu[0] == 1802ns);
  CHECK(usage.look(threads, begin + 7s).waited_for_cpu[1] == 70ns);
}

TEST_CASE("host usage: where the system says nothing there is none") {
  const temporary_tree host;
  host_usage usage(host.root());
  const std::array<pid_t, 1> threads{1};
  const host_usage::seen seen = usage.look(threads, monotonic::now());
  CHECK(seen.waited_for_cpu[0] == 0ns);
  CHECK_FALSE(seen.throttling.quota_cpus);
}

TEST_CASE("host usage: counts of throttling never fall, and those of another group before it had the quota "
          "are left out") {
  const temporary_tree host;
  host.write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  host.write("proc/self/cgroup", "0::/pod/app\n");
  const auto group = [&](const std::string& name, const char* quota, int periods, int throttled_us) {
    const std::string at = "sys/fs/cgroup/" + name;
    host.write(at + "/cpu.max", quota);
    host.write(at + "/cpu.stat", "nr_periods " + std::to_string(periods) + "\nnr_throttled " +
                                     std::to_string(periods) + "\nthrottled_usec " +
                                     std::to_string(throttled_us) + "\n");
  };
  group("pod", "max 100000", 900, 9000);
  group("pod/app", "200000 100000", 10, 100);
  host_usage usage(host.root());
  auto now = monotonic::now();
  const auto look = [&] { return usage.look({}, now += 1s).throttling; };
  CHECK(look().throttled == 100us); // since the group was made
  group("pod/app", "200000 100000", 11, 150);
  CHECK(look().throttled == 150us);
  group("pod/app", "max 100000", 11, 150);
  CHECK(look().throttled == 150us);
  CHECK_FALSE(look().quota_cpus);
  group("pod", "100000 100000", 900, 9000);
  CHECK(look().throttled == 150us);
  group("pod", "100000 100000", 902, 9200);
  const corewise::cpu_throttling seen = look();
  CHECK(seen.throttled == 350us);
  CHECK(seen.periods == 13);
  CHECK(seen.quota_cpus == 1);
  group("pod", "100000 100000", 1, 5); // made anew
  CHECK(look().throttled == 350us);
}
