// Cancellation against completion: a coroutine waits for something. One thread completes the wait and another
// stops it, at about the same time and at random. For a sleep and a deadline, the clock is one of the two.
// Exactly one of them ends the wait, and the wait reports the right one.
//
//     cancellations [--seed N] [--races N] [--park-timeout adaptive|never]
//
// N races, over all kinds of waits; fewer against the clock, which take longer. In some heats the races begin
// when all coroutines are suspended, in the others at once. The program prints each failure with the seed. It
// is also a failure when a kind of wait was never completed, never stopped, or never seen suspended, for then
// nothing was raced. If N races are too few to tell, more follow until all three were seen, or until there
// were `enough_to_say`.

#include <corewise/engine/barrier.hpp>
#include <corewise/engine/channel.hpp>
#include <corewise/engine/deadline.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using clock_type = std::chrono::steady_clock;

// --- the kinds of waits: `wait` says whether it was completed, `right` whether the state left agrees

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
  /// A coroutine that was stopped has not arrived: when it drops out no member is left.
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

/// A child of a scope waits, and the scope is stopped from outside.
struct scope_race {
  event it;

  static task<> child(scope_race& self, std::stop_token stop, bool& came) {
    came = co_await self.it.wait(std::move(stop));
  }
  task<bool> wait(std::stop_token stop) {
    bool came = false;
    co_await in_scope(std::move(stop), [this, &came](scope& s) -> task<> {
      s.fork(child(*this, s.stop_token(), came));
      co_return;
    });
    co_return came;
  }
  void complete() { it.set(); }
  bool right(bool /*completed*/) { return it.is_set(); }
};

// Races against the clock: `moment` is when it strikes, within `window` of the time when the two threads
// begin.

constexpr auto window = 300us;

struct sleep_race {
  clock_type::time_point moment;
  clock_type::time_point went_on;

  task<bool> wait(std::stop_token stop) {
    const bool came = co_await sleep_until(moment, std::move(stop));
    went_on = clock_type::now();
    co_return came;
  }
  void complete() {}
  bool right(bool completed) { return !completed || went_on >= moment; }
};

struct deadline_race {
  clock_type::time_point moment;
  event it;

  task<bool> wait(std::stop_token /*the deadline stops it*/) {
    co_return co_await with_deadline(moment - clock_type::now(), [this](std::stop_token stop) -> task<bool> {
      co_return co_await it.wait(std::move(stop));
    });
  }
  void complete() { it.set(); }
  bool right(bool /*completed*/) { return it.is_set(); }
};

template <class Race>
concept timed = requires(Race r) { r.moment; };

/// Returns how many of the engine's coroutines are suspended in races.
template <class Race> std::uint64_t suspended(const engine& e) {
  if constexpr (std::same_as<Race, sleep_race>) return e.metrics().timers_pending;
  std::uint64_t sum = 0;
  for (const corewise::suspended_in& s : e.dump().suspended) sum += s.coroutines;
  return sum;
}

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

/// Makes one of the two threads, which go through the lanes in the same order, a little faster or slower now
/// and then.
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
  std::uint64_t suspended = 0; ///< how many of them were suspended before the race

  /// Returns whether there was a race.
  bool raced() const { return completed != 0 && stopped != 0 && suspended != 0; }
};

/// 157 heats. One side has at most 3 of 5 heats for itself, emulated and on a busy machine as well. If it had
/// 5 of 6, it would have all of them in one run of 1e12.
constexpr std::uint64_t enough_to_say = 10'000;

void wait_until(clock_type::time_point t) {
  while (clock_type::now() < t) std::this_thread::yield();
}

template <class Race> tally race(engine& e, std::uint64_t races, std::uint64_t seed) {
  using heat = std::array<lane<Race>, lanes>;
  std::unique_ptr<heat> now;
  clock_type::time_point begin;
  bool over = false;
  std::barrier together(2);
  std::atomic<std::uint64_t> awake{0};
  // One of the two threads goes through the lanes. Against the clock it begins at some moment of the window.
  // Else it begins when the other is awake, too, and chance decides which of the two is first.
  const auto go = [&](pace& walk, std::minstd_rand& random, const auto& act) {
    together.arrive_and_wait();
    if (over) return false;
    if constexpr (timed<Race>) {
      wait_until(begin + std::chrono::nanoseconds(random() % window.count() * 1000));
    } else {
      const std::uint64_t both = awake.fetch_add(1) / 2 * 2 + 2;
      while (awake.load() < both) std::this_thread::yield();
      for (auto turns = random() % 4; turns != 0; --turns) std::this_thread::yield();
    }
    for (lane<Race>& l : *now) walk.step(), act(l);
    together.arrive_and_wait();
    return true;
  };
  std::thread stopper([&] {
    pace walk(seed + 1);
    std::minstd_rand random(static_cast<std::uint32_t>(seed + 3));
    while (go(walk, random, [](lane<Race>& l) { l.stop.request_stop(); })) {
    }
  });
  pace walk(seed + 2);
  std::minstd_rand random(static_cast<std::uint32_t>(seed + 4));
  tally sum;
  std::chrono::nanoseconds lead = 20ms; // until the clock strikes: long enough that all are suspended
  for (std::uint64_t done = 0; done < races || (!sum.raced() && done < enough_to_say); done += lanes) {
    const bool all_suspended = done / lanes % (timed<Race> ? 2 : 8) == 0;
    now = std::make_unique<heat>();
    begin = clock_type::now() + (all_suspended ? lead : 0ns);
    for (lane<Race>& l : *now) {
      if constexpr (timed<Race>)
        l.race.moment =
            begin + std::chrono::nanoseconds(random() % window.count() * 1000) +
            (&l - now->data() < 4 ? 200ms
                                  : 0ms); // a few are late, so that the clock loses on a busy machine too
      static_cast<void>(e.submit(l.run()));
    }
    if (all_suspended) {
      std::uint64_t seen = 0;
      for (;;) {
        seen = std::max(seen, suspended<Race>(e));
        if (seen == lanes || (timed<Race> && clock_type::now() >= begin)) break;
        std::this_thread::yield();
      }
      sum.suspended += seen;
      lead = seen == lanes ? std::max<std::chrono::nanoseconds>(lead * 3 / 4, 500us)
                           : std::min<std::chrono::nanoseconds>(lead * 2, 200ms);
    }
    go(walk, random, [](lane<Race>& l) { l.race.complete(); });
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

/// Returns whether there were races.
template <class Race> bool run(const char* name, const amounts& each, std::uint64_t part = 1) {
  profile p;
  p.topology.groups.group_by = domain_kind::machine; // one domain, however many caches the machine has
  p.workers.total = 3;
  if (each.never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  engine e(p);
  const tally sum = race<Race>(e, each.races / part, each.seed);
  const bool raced = sum.raced();
  std::printf("%s %-20s %10llu completed %10llu stopped %10llu suspended before\n",
              raced ? "ok    " : "FAILED", name, static_cast<unsigned long long>(sum.completed),
              static_cast<unsigned long long>(sum.stopped), static_cast<unsigned long long>(sum.suspended));
  return raced;
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
  each.races /= 12;
  bool raced = run<event_race>("event", each);
  raced &= run<auto_reset_race>("auto_reset_event", each);
  raced &= run<semaphore_race>("semaphore", each);
  raced &= run<mutex_race>("mutex", each);
  raced &= run<latch_race>("latch", each);
  raced &= run<barrier_race>("barrier", each);
  raced &= run<receive_race>("channel, receive", each);
  raced &= run<send_race>("channel, send", each);
  raced &= run<oneshot_race>("oneshot", each);
  raced &= run<scope_race>("scope", each);
  raced &= run<sleep_race>("sleep", each, 4);
  raced &= run<deadline_race>("deadline", each, 4);
  if (!raced)
    std::printf("FAILED with seed %llu: nothing was raced\n", static_cast<unsigned long long>(each.seed));
  return raced ? 0 : 1;
}
