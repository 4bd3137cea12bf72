// One engine for each package (socket) of the machine, from one profile: a request stays on the package that took it,
// with its memory and its caches. On a machine with one package there is one engine.
#include <corewise/engine/engine_set.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  std::atomic<int> at_home{0};
  corewise::engine_set engines(corewise::parse_profile("name: mydaemon\nengines: {per: package}\n"));

  for (corewise::engine& e : engines)
    for (int i = 0; i < 1000; ++i)
      if (e.submit([&] {
            if (&engines.local() == &e) ++at_home;
          }) != corewise::submit_result::accepted)
        return 1;

  // One shutdown for all of them, at the same time.
  bool clean = true;
  for (const corewise::shutdown_report& report : engines.shutdown(10s)) clean = clean && report.clean();
  const bool all = at_home == static_cast<int>(1000 * engines.size());
  std::printf("%zu engines, all tasks at home: %s, all ended: %s\n", engines.size(), all ? "yes" : "no",
              clean ? "yes" : "no");
}
