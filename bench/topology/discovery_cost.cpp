// The cost of discovering large machines.
//
//   discovery_cost [RUNS]      the median of RUNS (default 15) discoveries of each; CPU time, so that
//                              other programs do not count

#include <corewise/topology/discovery.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace corewise;

namespace {

double thread_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

} // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 15;
  if (runs < 1) return std::fprintf(stderr, "usage: discovery_cost [RUNS]\n"), 2;
  std::printf("ms of CPU time          machine\n");
  for (const char* text : {"pack:2 l3:12 core:8 pu:2", "pack:4 numa:2 l3:8 core:16 pu:1",
                           "numa:256 core:4 pu:1", "numa:1024 pu:1"}) {
    machine_description description;
    description.source = synthetic_source{text};
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
      const double begun = thread_milliseconds();
      (void)discover(description);
      times.push_back(thread_milliseconds() - begun);
    }
    std::sort(times.begin(), times.end());
    std::printf("%6.1f [%5.1f, %5.1f]   %s\n", times[times.size() / 2], times.front(), times.back(), text);
  }
}
