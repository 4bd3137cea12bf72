#pragma once

#include "verdict.hpp"
#include "within.hpp"
#include "worker_threads.hpp"

#include <corewise/engine/sleep.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

namespace corewise::emulated {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

/// Coroutines in each group that work a little and sleep, until they are told to end.
class steady_work {
 public:
  explicit steady_work(engine& e) {
    for (const locality_group& g : e.groups().groups())
      for (int i = 0; i < 8; ++i)
        if (e.submit(laps(), {.group = g.id}) == submit_result::accepted) ++begun_;
  }
  bool ended() {
    over_ = true;
    return within(patience, [&] { return ended_ == begun_; });
  }

 private:
  task<void> laps() {
    while (!over_) {
      for (int i = 0; i < 2000; ++i) spun_.fetch_add(1, std::memory_order_relaxed);
      co_await sleep_for(2ms);
    }
    ++ended_;
  }

  std::atomic<bool> over_{false};
  int begun_ = 0;
  std::atomic<int> ended_{0};
  std::atomic<std::uint64_t> spun_{0};
};

/// Returns whether tasks run wherever they are sent.
inline bool tasks_run(engine& e) {
  const auto ran = std::make_shared<std::atomic<int>>(0);
  int sent = 0;
  for (const locality_group& g : e.groups().groups())
    for (int i = 0; i < 200; ++i)
      if (e.submit([ran] { ++*ran; }, {.group = g.id}) == submit_result::accepted) ++sent;
  return sent > 0 && within(patience, [&] { return *ran == sent; });
}

/// An engine of a worker on each CPU, each pinned to its own, that works until its end, and what is to be said of it.
class engine_at_work {
 public:
  engine_at_work(std::string title, verdict& v)
      : title_(std::move(title)),
        v_(v),
        e_(settings(), threads_.hooks()),
        work_(e_) {
    holds("workers at the start", std::to_string(e_.workers().size()), "8");
  }
  ~engine_at_work() {
    const bool ended = work_.ended();
    holds("what was begun", ended ? "ended" : "is not over", "ended");
    if (!ended) std::_Exit(1); // it would use what goes now
  }

  /// Waits until a worker for each of these CPUs takes tasks, tied to its own, or where that is gone to what its group has
  /// left.
  void comes_to(const std::string& when, const cpu_set& cpus) {
    static_cast<void>(within(patience, [&] { return active() == cpus.size() && tied(cpus); }));
    comes_to(when, cpus.size());
    holds(when + ", threads", tied(cpus) ? "tied to their own" : "tied wrongly", "tied to their own");
  }
  /// The same for a number of workers, whichever.
  void comes_to(const std::string& when, std::uint64_t workers) {
    static_cast<void>(within(patience, [&] { return active() == workers; }));
    holds(when + ", workers", std::to_string(active()), std::to_string(workers));
    holds(when + ", tasks", tasks_run(e_) ? "ran" : "did not run", "ran");
  }
  void holds(const std::string& what, const std::string& is, const std::string& should_be) {
    v_.same(title_ + ": " + what, is, should_be);
  }
  engine& running() noexcept { return e_; }

 private:
  static profile settings() {
    profile p;
    p.workers.pin = pin_to::core;
    p.topology.smt = smt_use::all;
    p.blocking.stuck_after = 5s;
    return p;
  }
  std::uint64_t active() const { return e_.metrics().total().active; }
  /// Returns whether the kernel ties each worker that takes tasks to that, if the host allows these CPUs.
  bool tied(const cpu_set& cpus) {
    const metrics_snapshot now = e_.metrics();
    return std::ranges::all_of(e_.workers().workers(), [&](const worker_place& w) {
      const cpu_set own = e_.machine().cores()[w.core].cpus & cpus;
      const cpu_set wanted = own.empty() ? e_.groups()[w.group].cpus & cpus : own;
      return now.workers[w.id.value].active == 0 ||
             threads_.status(w.id, "Cpus_allowed_list") == wanted.to_string();
    });
  }

  std::string title_;
  verdict& v_;
  worker_threads threads_;
  engine e_;
  steady_work work_;
};

} // namespace corewise::emulated
