#include "random_actions.hpp"

#include "random_profile.hpp"

#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/yield.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

// Tasks and outside threads act at random: they submit, yield, hand over values, block, wait for a child,
// reload and drain.

namespace corewise::tests {

namespace {

hint any_hint(const round& r, placement_rng& rng) {
  hint wish;
  if (one_in(rng, 4)) wish.run_as = one_in(rng, 2) ? task_class::latency : task_class::background;
  if (one_in(rng, 8)) wish.worker = worker_id{rng.below(r.workers)};
  if (one_in(rng, 8)) wish.group = group_id{rng.below(r.groups)};
  if (one_in(rng, 16)) wish.package = rng.below(4);
  if (one_in(rng, 16)) wish.node = rng.below(4);
  if (one_in(rng, 16)) wish.kind = rng.below(2);
  if (one_in(rng, 16)) return near(&r, wish);
  return wish;
}

/// Applies other rules, another number of workers, or both. Only an engine that shuts down may refuse.
void reload(round& r, placement_rng& rng) {
  profile p = r.began_with;
  const bool retire = one_in(rng, 2);
  if (retire) p.workers.total = (r.may_await_child ? 2 : 1) + rng.below(r.workers - 1);
  if (!retire || one_in(rng, 2)) set_any_rules(p, rng, r.may_await_child);
  if (r.never_times_out) p.idle.park_timeout.kind = park_timeout_setting::mode::never;
  const apply_result answer = r.on->apply(p);
  if (answer.applied()) return r.count(retire ? operation::retire : operation::reload);
  if (answer.refused.size() == 1 && answer.refused.front().key.empty()) return;
  std::printf("FAILED a reload was refused\n  --seed %llu --rounds 1\n%s",
              static_cast<unsigned long long>(r.seed), answer.to_text().c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

void submit_any(round& r, placement_rng& rng, int generation);

/// Does what closures and coroutines have in common.
void act(round& r, placement_rng& rng, int generation) {
  if (one_in(rng, 100)) {
    // Some calls end at once, some end while a spare thread comes, and some outlast it.
    const std::chrono::microseconds length{one_in(rng, 3) ? 0 : rng.below(one_in(rng, 4) ? 500 : 50)};
    blocking([&] {
      if (length.count() != 0) std::this_thread::sleep_for(length);
    });
    r.count(operation::block);
  }
  if (one_in(rng, 1000)) reload(r, rng);
  if (generation < 6)
    for (std::uint32_t children = rng.below(4); children > 0; --children) submit_any(r, rng, generation + 1);
}

/// Waits for a child without letting go of its worker, as no task should: the child may be in its LIFO slot.
void await_child(round& r, placement_rng& rng) {
  if (!r.may_await_child || !one_in(rng, 200) || r.child_awaited.exchange(true)) return;
  const auto done = std::make_shared<std::atomic<bool>>(false);
  struct at_end {
    std::shared_ptr<std::atomic<bool>> flag;
    explicit at_end(std::shared_ptr<std::atomic<bool>> f) : flag(std::move(f)) {}
    at_end(at_end&&) = default;
    at_end& operator=(at_end&&) = delete;
    ~at_end() {
      if (flag) flag->store(true);
    }
  };
  if (r.on->submit([end = at_end(done)] {}) != submit_result::accepted) done->store(true);
  while (!done->load()) std::this_thread::yield();
  r.count(operation::await_child);
  r.child_awaited.store(false);
}

struct closure_body {
  token mine;
  int generation;

  void operator()() {
    mine.ran();
    placement_rng rng = mine.rng();
    act(mine.in(), rng, generation);
    await_child(mine.in(), rng);
  }
};

/// Sends in any case: when it is dropped unrun, its receiver is still resumed.
class sender {
 public:
  explicit sender(std::shared_ptr<oneshot<std::uint64_t>> to) : to_(std::move(to)) {}
  sender(sender&&) = default;
  sender& operator=(sender&&) = delete;
  ~sender() { send(0); }
  void send(std::uint64_t value) {
    if (const auto to = std::exchange(to_, nullptr)) to->send(value);
  }

 private:
  std::shared_ptr<oneshot<std::uint64_t>> to_;
};

struct sending_body {
  token mine;
  sender out;
  std::uint64_t value;

  void operator()() {
    mine.ran();
    out.send(value);
  }
};

task<> coroutine_body(token mine, int generation) {
  mine.ran();
  round& r = mine.in();
  placement_rng rng = mine.rng();
  for (std::uint32_t steps = rng.below(6); steps > 0; --steps) {
    switch (rng.below(3)) {
    case 0:
      co_await yield();
      r.count(operation::yield);
      break;
    case 1: {
      const auto shot = std::make_shared<oneshot<std::uint64_t>>();
      const std::uint64_t value = rng.next() | 1;
      if (const std::uint32_t number = r.next_fate.fetch_add(1); number < r.fates.size()) {
        const bool in = r.on->submit(sending_body{token(r, number), sender(shot), value}, any_hint(r, rng)) ==
                        submit_result::accepted;
        r.fates[number].accepted.store(in);
        r.count(in ? operation::submit : operation::refused);
      } else {
        shot->send(value);
      }
      const std::uint64_t got = co_await shot->receive();
      if (got != value && got != 0) std::abort();
      r.count(operation::hand_over);
      break;
    }
    default: act(r, rng, generation);
    }
  }
}

void submit_any(round& r, placement_rng& rng, int generation) {
  if (r.over()) return;
  const std::uint32_t number = r.next_fate.fetch_add(1);
  if (number >= r.fates.size()) return;
  token t(r, number);
  const hint wish = any_hint(r, rng);
  const submit_result answer = one_in(rng, 2) ? r.on->submit(coroutine_body(std::move(t), generation), wish)
                               : one_in(rng, 2)
                                   ? r.on->submit(closure_body{std::move(t), generation}, wish)
                                   : r.on->try_submit(closure_body{std::move(t), generation}, wish);
  r.fates[number].accepted.store(answer == submit_result::accepted);
  if (answer != submit_result::accepted) r.closed.store(true);
  r.count(answer == submit_result::accepted ? operation::submit : operation::refused);
}

} // namespace

void act_outside(round& r, std::uint64_t seed) {
  placement_rng rng(seed);
  while (!r.over() && !r.closed.load()) {
    for (std::uint32_t n = 1 + rng.below(8); n > 0; --n) submit_any(r, rng, 0);
    if (one_in(rng, 20)) reload(r, rng);
    if (one_in(rng, 50)) {
      r.on->drain();
      r.count(operation::drain);
    }
    // This is long enough for workers to go to sleep, now and then.
    if (one_in(rng, 10)) std::this_thread::sleep_for(std::chrono::microseconds{rng.below(300)});
  }
}

} // namespace corewise::tests
