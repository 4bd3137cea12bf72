// A program outside the project, as a user of the package writes it.
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <cstdio>

int main(int argc, char** argv) {
  corewise::profile p = argc == 2 ? corewise::load_profile(argv[1]) : corewise::profile{};
  corewise::engine e(p);
  std::atomic<int> done{0};
  for (int i = 0; i < 1000; ++i)
    if (e.submit([&] { ++done; }) != corewise::submit_result::accepted) return 2;
  e.drain();
  std::printf("%d tasks on %zu workers of %zu groups\n", done.load(), e.workers().size(), e.groups().size());
  return done == 1000 ? 0 : 1;
}
