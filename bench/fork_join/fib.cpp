// The cost of a fork: fib, where there is nothing else.
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace corewise;

namespace {

task<long> forked(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await when_all(forked(n - 1), forked(n - 2));
  co_return a + b;
}

/// Computes fib on the stack of a plain task.
long scoped(int n) {
  if (n < 2) return n;
  long a = 0;
  blocking_scope s;
  s.fork([&] { a = scoped(n - 1); });
  const long b = scoped(n - 2);
  s.wait();
  return a + b;
}
task<long> waited(int n) { co_return scoped(n); }

task<long> awaited(int n) {
  if (n < 2) co_return n;
  const long a = co_await awaited(n - 1);
  co_return a + co_await awaited(n - 2);
}

long called(int n) { return n < 2 ? n : called(n - 1) + called(n - 2); }

/// The CPU time of the whole process, which does nothing else.
double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(engine& on, const char* name, task<long> (*fib)(int), int n, int runs) {
  double calls = 1;
  double before = 1;
  for (int i = 2; i <= n; ++i) calls += std::exchange(before, calls) + 1;
  const long right = called(n);
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int run = 0; run <= runs; ++run) { // the first is a warm-up
    const auto began = std::chrono::steady_clock::now();
    const double used = cpu_ns();
    if (sync_wait(on, fib(n)) != right) std::abort();
    if (run == 0) continue;
    cpu.push_back((cpu_ns() - used) / calls);
    wall.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count());
  }
  std::printf("| %s | %d | %zu | %.1f | %.1f | %.1f |\n", name, n, on.workers().size(), median(wall) / 1e6,
              median(wall) / calls, median(cpu));
}

} // namespace

int main(int count, char** words) {
  const int n = count > 1 ? std::atoi(words[1]) : 30;
  const int runs = count > 2 ? std::atoi(words[2]) : 15;
  if (count > 3 || n < 1 || n > 45 || runs < 1) {
    std::fputs("usage: fork_join_fib [N] [RUNS]\n", stderr);
    return 2;
  }
  std::puts("| fib | n | workers | ms | ns/call | CPU ns/call |\n|---|---|---|---|---|---|");
  for (const std::uint32_t workers : {1U, 2U}) {
    profile p;
    p.workers.total = workers;
    engine e(p);
    measure(e, "forked", forked, n, runs);
    measure(e, "waited", waited, n, runs);
    measure(e, "awaited", awaited, n, runs);
  }
}
