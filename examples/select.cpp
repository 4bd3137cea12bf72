// A coroutine takes orders until the shop closes, and looks up at least once in 50 ms. `select` waits for the
// first of several things, and touches nothing of the others: no order gets lost when another thing comes
// first.
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <cstdio>

using namespace std::chrono_literals;
using corewise::task;

namespace {

task<int> serve(corewise::channel<int>& orders, corewise::event& closing) {
  int taken = 0;
  while (!closing.is_set()) {
    // Whichever comes first; what the others wait for is not touched.
    const auto next = co_await corewise::select(orders.receive(), closing.wait(), corewise::sleep_for(50ms));
    if (next.index() == 0 && std::get<0>(next)) ++taken;
  }
  co_return taken;
}

} // namespace

int main() {
  corewise::channel<int> orders(4);
  corewise::event closing;
  corewise::engine engine;
  corewise::future<int> taken = engine.run(serve(orders, closing));
  for (int i = 0; i < 100; ++i) static_cast<void>(corewise::sync_wait(orders.send(int{i})));
  closing.set();
  int left = 0;
  const int served = taken.get();
  while (orders.try_receive()) ++left;
  std::printf("%d orders of 100 are lost\n", 100 - served - left);
  return served + left == 100 ? 0 : 1;
}
