// What tests/gdb/check looks at by gdb: tasks that wait in all ways, and then `everything_waits` is called,
// and the program stands still. With an argument it has no engine.

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/select.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_all.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using corewise::task;

/// Where gdb stops.
extern "C" [[gnu::noinline]] void everything_waits() { asm volatile("" : : : "memory"); }

namespace {

[[noreturn]] void stand_still() {
  for (;;) ::pause();
}

// --- awaits several deep

task<int> innermost(corewise::channel<int>& from) { co_return (co_await from.receive()).value_or(0); }
task<int> middle(corewise::channel<int>& from, int more) { co_return co_await innermost(from) + more; }
task<> order(corewise::channel<int>& from) { static_cast<void>(co_await middle(from, 1)); }

// --- forks

task<> child_waits(corewise::event& e) { co_await e.wait(); }
task<> child_awaits(corewise::event& e) { co_await child_waits(e); }
task<> child_sleeps() { co_await corewise::sleep_for(1h); }
task<> parent(corewise::event& e) { co_await corewise::when_all(child_awaits(e), child_sleeps()); }
task<> grandparent(corewise::event& e) { co_await parent(e); }

// --- a coroutine of another type

class foreign {
 public:
  struct promise_type {
    std::coroutine_handle<> continuation;

    foreign get_return_object() { return foreign(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct go_on {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) const noexcept {
          return h.promise().continuation;
        }
        void await_resume() const noexcept {}
      };
      return go_on{};
    }
    void return_void() {}
    void unhandled_exception() {}
  };

  explicit foreign(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  foreign(const foreign&) = delete;
  foreign& operator=(const foreign&) = delete;
  ~foreign() { frame_.destroy(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
    frame_.promise().continuation = h;
    return frame_;
  }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<promise_type> frame_;
};

task<> below_foreign(corewise::event& e) { co_await e.wait(); }
foreign in_between(corewise::event& e) { co_await below_foreign(e); }
task<> above_foreign(corewise::event& e) { co_await in_between(e); }

task<> child_of_foreign(corewise::event& e) { co_await e.wait(); }
foreign forks_in_between(corewise::event& e) {
  co_await corewise::when_all(child_of_foreign(e), child_sleeps());
}
task<> above_forks(corewise::event& e) { co_await forks_in_between(e); }

// --- a race

task<> races(corewise::event& e) { co_await corewise::select(e.wait(), corewise::sleep_for(1h)); }

// --- what runs, and what is queued behind it

template <class F> void wait_until(F&& holds) {
  while (!holds()) std::this_thread::sleep_for(1ms);
}

/// Workers that run a task for good. Only when all do, they queue more, which stays where it is then.
std::atomic<int> running{0};
std::atomic<int> have_queued{0};
void wait_until_all_run() {
  ++running;
  wait_until([] { return running == 4; });
}

struct closure_that_blocks {
  void operator()() const {
    wait_until_all_run();
    stand_still();
  }
};
struct forked_call {
  void operator()() const {}
};
struct closure_that_forks {
  void operator()() const {
    wait_until_all_run();
    corewise::blocking_scope scope;
    scope.fork(forked_call());
    ++have_queued;
    stand_still();
  }
};
struct closure_without_a_seat {
  void operator()() const { corewise::blocking(stand_still); }
};

task<> is_queued(corewise::event& e) { co_await e.wait(); }

[[gnu::noinline]] task<> runs_inside(corewise::event& e) {
  wait_until_all_run();
  e.set(); // one goes into the slot, and the other into the ring
  ++have_queued;
  stand_still();
  co_return;
}
task<> runs(corewise::event& e) { co_await runs_inside(e); }

/// A coroutine whose frame no register leads to.
[[gnu::noinline]] task<int> runs_spilled(int later) {
  wait_until_all_run();
  while (running != 0) {
#ifdef __x86_64__
    asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
#endif
    ::pause();
  }
  co_return later;
}
task<> spills() { static_cast<void>(co_await runs_spilled(1)); }

std::size_t suspended(const corewise::engine& e) {
  std::size_t all = 0;
  for (const corewise::suspended_in& s : e.dump().suspended) all += s.coroutines;
  return all;
}

} // namespace

int main(int argc, char** /*argv*/) {
  ::alarm(600);                                // in case the test dies
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // gcore attaches
  if (argc > 1) {
    everything_waits();
    return 0;
  }
  corewise::profile settings;
  settings.name = "subject";
  settings.workers.total = 4;
  settings.workers.pin = corewise::pin_to::none;
  settings.queues.lifo_age.reset(); // what is in a slot stays there
  corewise::engine e(std::move(settings));
  corewise::channel<int> values(0);
  corewise::event never;
  corewise::event wakes;

  const auto submit = [&e](auto&& f, const corewise::hint& wish = {}) {
    static_cast<void>(e.submit(std::forward<decltype(f)>(f), wish));
  };
  submit(closure_without_a_seat());
  wait_until([&] { return e.metrics().total().taken_seats == 1; });
  submit(order(values), {.name = "order 7", .id = {0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}});
  const corewise::future<void> done = e.run(grandparent(never), {.name = "family"});
  submit(above_foreign(never));
  submit(is_queued(wakes));
  submit(is_queued(wakes), {.name = "queued"});
  submit(above_forks(never));
  submit(races(never));
  wait_until([&] { return suspended(e) == 7 && e.metrics().timers_pending == 3; });
  submit(closure_that_blocks(), {.name = "named closure"});
  submit(closure_that_forks());
  submit(spills());
  submit(runs(wakes));
  wait_until([] { return have_queued == 2; });

  everything_waits();
  std::puts("everything waits");
  std::fflush(stdout);
  stand_still();
}
