#pragma once

#include <corewise/engine/when_all.hpp>

/// Forks at each step, and does nothing else.
inline corewise::task<long> fib(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await corewise::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}
