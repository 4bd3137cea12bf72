// A module of `dlopen`: makes an engine, uses what programs use, and ends it.
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>

#include <csignal>

namespace {

corewise::task<int> receive_all(corewise::channel<int>& from) {
  int sum = 0;
  for (auto number = co_await from.receive(); number; number = co_await from.receive()) sum += *number;
  co_return sum;
}

corewise::task<int> send_some(corewise::channel<int>& to) {
  for (int n = 1; n <= 3; ++n) co_await to.send(n);
  to.close();
  co_return 1;
}

corewise::task<int> talk(corewise::channel<int>& over) {
  const auto [sum, sent] = co_await corewise::when_all(receive_all(over), send_some(over));
  co_return sum + sent;
}

corewise::task<int> wait(corewise::oneshot_receiver<int> value, corewise::event& set) {
  co_await set.wait();
  co_await corewise::sleep_for(std::chrono::microseconds{10});
  co_return co_await value.receive();
}

} // namespace

/// Returns 12 if all went well.
extern "C" [[gnu::visibility("default")]] int use_engine() {
  corewise::profile p;
  p.debug.stack_signal = SIGURG;
  corewise::engine e(p);
  corewise::channel<int> c(1);
  int both = sync_wait(e, talk(c)); // 7
  auto value = corewise::make_oneshot<int>();
  corewise::event set;
  auto waits = e.run(wait(std::move(value.second), set));
  set.set();
  value.first.send(2);
  both += waits.get(); // 9
  both += e.run([] {
             int part = 0;
             corewise::blocking_scope s;
             s.fork([&] { part = corewise::blocking([] { return 3; }); });
             s.wait();
             return part;
           }).get();
  for (int i = 0; i < 1000; ++i) (void)e.submit([] {}, corewise::near(&both));
  e.drain();
  return both;
}
