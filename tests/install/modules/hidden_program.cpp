// A program whose names are hidden, too. It has corewise from the library alone, and awaits on the library's
// engine.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

corewise::engine& engine_of_library();

static corewise::task<int> give_way(int n) {
  for (int i = 0; i < 100; ++i) co_await corewise::yield();
  co_return n;
}

static corewise::task<int> sum() {
  const auto [a, b] = co_await corewise::when_all(give_way(1), give_way(2));
  co_return a + b;
}

int main() { return sync_wait(engine_of_library(), sum()) == 3 ? 0 : 1; }
