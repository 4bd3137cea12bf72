// A module of `dlopen`: makes an engine, uses what programs use, and ends it.
#include <corewise/engine/barrier.hpp>
#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/group_local.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/parallel_reduce.hpp>
#include <corewise/engine/resume_on.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task_local.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/when_any.hpp>
#include <corewise/engine/yield.hpp>

#include <atomic>
#include <csignal>
#include <functional>

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

corewise::task_local<int> number;

/// Uses what the rest does not. Returns 0 if all went well.
corewise::task<int> use_others(corewise::engine& e) {
  corewise::event set;
  set.set();
  co_await corewise::select(set.wait(), corewise::sleep_for(std::chrono::hours{1}));
  corewise::channel<int> c(1);
  co_await corewise::select(c.send(1), c.receive(), corewise::sleep_for(std::chrono::hours{1}));
  const auto ends = [](std::stop_token) -> corewise::task<int> { co_return 1; };
  co_await corewise::when_any(ends, ends);
  co_await corewise::yield();
  corewise::semaphore permits(1);
  co_await permits.acquire();
  permits.release();
  corewise::mutex m;
  const auto held = co_await m.lock();
  corewise::latch last(1);
  last.count_down();
  co_await last.wait();
  corewise::barrier all(1);
  co_await all.arrive_and_wait();
  const int blocked = co_await corewise::run_blocking([] { return 1; });
  co_await corewise::resume_on(e);
  const corewise::task_local<int>::value bound(number, 2);
  std::atomic<int> sum{0};
  co_await corewise::parallel_for(0, 3, [&](int i) { sum += i; });
  const int reduced = co_await corewise::parallel_reduce(0, 3, 0, [](int i) { return i; }, std::plus<>());
  co_return blocked + *number.get() + sum + reduced - 9;
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
  (void)e.after(std::chrono::hours{1}, [] {}).cancel();
  corewise::group_local<int> of_groups(e);
  both += e.run(use_others(e)).get();
  e.drain();
  return both;
}
