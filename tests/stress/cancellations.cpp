// Cancellation against completion: a coroutine waits for something, one thread completes it and another stops the wait, at
// about the same time and at random. One of the two ends it, once, and what it says of itself is so.
//
//     cancellations [--seed N] [--races N] [--park-timeout adaptive|never]
//
// N races in all, over all that can be waited for. What failed is printed with the seed.

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/semaphore.hpp>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

using namespace corewise;

namespace {

// --- what is waited for: `wait` says whether it was completed, and `right` whether that agrees with what is left

struct event_race {
  event it;

  task<bool> wait(std::stop_token stop) { co_return co_await it.wait(std::move(stop)); }
  void complete() { it.set(); }
  bool right(bool /*completed*/) { return it.is_set(); }
};

struct auto_reset_race {
  auto_reset_event it;

  task<bool> wait(std::stop_token stop) { co_return co_await it.wait(std::move(stop)); }
  void complete() { it.set(); }
  bool right(bool completed) { return it.is_set() != completed; }
};

struct semaphore_race {
  semaphore it{0};

  task<bool> wait(std::stop_token stop) { co_return co_await it.acquire(std::move(stop)); }
  void complete() { it.release(); }
  bool right(bool completed) { return it.available() == (completed ? 0U : 1U); }
};

struct mutex_race {
  mutex it;

  mutex_race() { static_cast<void>(it.try_lock()); }
  task<bool> wait(std::stop_token stop) {
    const mutex_guard locked = co_await it.lock(std::move(stop));
    co_return static_cast<bool>(locked);
  }
  void complete() { it.unlock(); }
  bool right(bool /*completed*/) { return it.try_lock(); }
};

struct latch_race {
  latch it{1};

  task<bool> wait(std::stop_token stop) { co_return co_await it.wait(std::move(stop)); }
  void complete() { it.count_down(); }
  bool right(bool /*completed*/) { return it.try_wait(); }
};

struct barrier_race {
  barrier it{2};

  task<bool> wait(std::stop_token stop) { co_return co_await it.arrive_and_wait(std::move(stop)); }
  void complete() { it.arrive_and_drop(); }
  /// Who was stopped has not arrived: when it drops out nobody is left.
  bool right(bool /*completed*/) { return it.arrive_and_drop(), true; }
};

struct receive_race {
  channel<int> it{1};

  task<bool> wait(std::stop_token stop) { co_return (co_await it.receive(std::move(stop))) == 7; }
  void complete() { static_cast<void>(it.try_send(7)); }
  bool right(bool completed) { return (it.try_receive() == 7) != completed; }
};

struct send_race {
  channel<int> it{0};
  bool received = false;

  task<bool> wait(std::stop_token stop) { co_return co_await it.send(7, std::move(stop)); }
  void complete() { received = it.try_receive() == 7; }
  bool right(bool completed) { return received == completed && !it.try_receive(); }
};

struct oneshot_race {
  oneshot<int> it;

  task<bool> wait(std::stop_token stop) { co_return (co_await it.receive(std::move(stop))) == 7; }
  void complete() { it.send(7); }
  bool right(bool /*completed*/) { return true; }
};

// --- the race

enum class outcome : std::uint8_t { none, completed, stopped, twice };

template <class Race> struct lane {
  Race race;
  std::stop_source stop;
  std::atomic<outcome> ended{outcome::none};

  task<> run() {
    const bool completed = co_await race.wait(stop.get_token());
    const outcome before = ended.exchange(completed ? outcome::completed : outcome::stopped);
    if (before != outcome::none) ended = outcome::twice;
  }
};

constexpr std::size_t lanes = 64;

/// Both threads go through the lanes in the same order, each a little faster or slower now and then.
class pace {
 public:
  explicit pace(std::uint64_t seed) : random_(seed) {}
  void step() {
    for (std::uint64_t n = random_() % 16; n != 0; --n) std::atomic_signal_fence(std::memory_order_seq_cst);
    if (random_() % 512 == 0) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

struct tally {
  std::uint64_t completed = 0;
  std::uint64_t stopped = 0;
};

template <class Race> tally race(engine& e, std::uint64_t races, std::uint64_t seed) {
  using heat = std::array<lane<Race>, lanes>;
  std::unique_ptr<heat> now;
  bool over = false;
  std::barrier together(2);
  std::thread stopper([&] {
    pace walk(seed + 1);
    for (;;) {
      together.arrive_and_wait();
      if (over) return;
      for (lane<Race>& l : *now) walk.step(), l.stop.request_stop();
      together.arrive_and_wait();
    }
  });
  pace walk(seed + 2);
  tally sum;
  for (std::uint64_t done = 0; done < races; done += lanes) {
    now = std::make_unique<heat>();
    for (lane<Race>& l : *now) static_cast<void>(e.submit(l.run()));
    together.arrive_and_wait();
    for (lane<Race>& l : *now) walk.step(), l.race.complete();
    together.arrive_and_wait();
    e.drain();
    for (lane<Race>& l : *now) {
      const outcome how = l.ended;
      const bool completed = how == outcome::completed;
      if ((!completed && how != outcome::stopped) || !l.race.right(completed)) {
        std::printf("FAILED with seed %llu: outcome %d\n", static_cast<unsigned long long>(seed),
                    static_cast<int>(how));
        std::exit(1);
      }
      ++(completed ? sum.completed : sum.stopped);
    }
  }
  over = true;
  together.arrive_and_wait();
  stopper.join();
  return sum;
}

struct amounts {
  std::uint64_t seed = std::random_device{}();
  std::uint64_t races = 1'000'000;
  bool never_times_out = false;
};

template <class Race> void run(const char* name, const amounts& each) {
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = 3;
  if (each.never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  engine e(p);
  const tally sum = race<Race>(e, each.races, each.seed);
  std::printf("ok     %-20s %10llu completed %10llu stopped\n", name,
              static_cast<unsigned long long>(sum.completed), static_cast<unsigned long long>(sum.stopped));
}

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

} // namespace

int main(int count, char** words) {
  amounts each;
  for (int i = 1; i < count; i += 2) {
    const bool has_value = i + 1 < count;
    if (has_value && std::strcmp(words[i], "--seed") == 0)
      each.seed = number(words[i + 1]);
    else if (has_value && std::strcmp(words[i], "--races") == 0)
      each.races = number(words[i + 1]);
    else if (has_value && std::strcmp(words[i], "--park-timeout") == 0)
      each.never_times_out = std::strcmp(words[i + 1], "never") == 0;
    else
      return std::fputs("usage: cancellations [--seed N] [--races N] [--park-timeout adaptive|never]\n",
                        stderr),
             2;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(each.seed));
  each.races /= 9;
  run<event_race>("event", each);
  run<auto_reset_race>("auto_reset_event", each);
  run<semaphore_race>("semaphore", each);
  run<mutex_race>("mutex", each);
  run<latch_race>("latch", each);
  run<barrier_race>("barrier", each);
  run<receive_race>("channel, receive", each);
  run<send_race>("channel, send", each);
  run<oneshot_race>("oneshot", each);
}
