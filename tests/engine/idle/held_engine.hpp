#pragma once

#include "runtime/runtime.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

// An engine of a described machine, whose workers a test can hold where they are.

namespace corewise::tests {

/// Returns a profile of a described machine with this many workers in each group.
inline profile described(const std::string& machine, std::uint32_t per_group, domain_kind domains) {
  profile p = small_profile(0);
  p.workers.total.reset();
  p.workers.per_group = per_group;
  p.topology.machine.source = synthetic_source{machine};
  p.topology.groups.group_by = domains;
  p.idle.park_timeout.kind = park_timeout_setting::mode::never; // no worker wakes up by itself
  p.queues.lifo_cap = 0;                                        // nor for the sake of a slot
  p.blocking.stuck_after = std::chrono::hours{1};               // nor because a domain stands still
  return p;
}

inline profile packages(std::uint32_t count, std::uint32_t per_group) {
  return described("pack:" + std::to_string(count) + " numa:1 l3:1 core:8 pu:1", per_group,
                   domain_kind::machine);
}

/// Waits until it holds. Returns false if it does not hold within 60 s.
inline bool in_the_end(const std::function<bool()>& holds) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  return true;
}

/// An engine whose workers can each be held by a task.
class held_engine {
 public:
  explicit held_engine(const profile& p) {
    REQUIRE(in_the_end([&] { return starts(p); }));
    for (std::size_t w = 0; w < e_->workers().size(); ++w) gates_.push_back(std::make_unique<gate>());
    at_first_ = e_->metrics();
  }
  held_engine(const held_engine&) = delete;
  held_engine& operator=(const held_engine&) = delete;
  ~held_engine() {
    for (std::uint32_t w = 0; w < gates_.size(); ++w) release(w);
    e_->drain();
  }

  engine& get() { return *e_; }
  runtime& inside() { return *inside_; }

  void submit_to(std::uint32_t w, const std::function<void()>& f) {
    if (e_->submit(f, {.worker = worker_id{w}}) != submit_result::accepted) std::abort();
  }
  /// Keeps the worker, which sleeps, in a task until it is released.
  void hold(std::uint32_t w) {
    submit_to(w, [this] { hold_here(); });
    gates_[w]->wait_for(1);
  }
  /// Holds the worker that runs this.
  void hold_here() { gates_[e_->this_worker()->value]->pass(); }
  void release(std::uint32_t w) { gates_[w]->open(); }

  worker_metrics counts(std::uint32_t w) const { return e_->metrics().workers[w]; }
  /// Returns how many tasks that worker, or all workers, have stolen since the constructor was done.
  std::uint64_t stolen(std::uint32_t w, level l) const {
    const auto of = static_cast<std::size_t>(l);
    return counts(w).stolen[of] - at_first_.workers[w].stolen[of];
  }
  std::uint64_t stolen_by_all() const {
    const auto sum = [](const metrics_snapshot& m) {
      const auto all = m.total().stolen;
      return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
    };
    return sum(e_->metrics()) - sum(at_first_);
  }

  bool parked(std::uint32_t w) const { return state(w) == seat_state::parked; }
  seat_state state(std::uint32_t w) const { return e_->dump().seats[w].state; }
  /// Returns whether all workers sleep in the end. None may be held.
  bool settled() const {
    return in_the_end([&] {
      return std::ranges::all_of(e_->dump().seats,
                                 [](const seat_dump& s) { return s.state == seat_state::parked; });
    });
  }
  /// Wakes the worker, which sleeps, lets it look everywhere and sleep again. Returns false if it does not.
  bool look_around(std::uint32_t w) {
    for (int i = 0; i < 2; ++i) { // a sleep that has only just begun may be counted late
      const std::uint64_t before = counts(w).parks;
      submit_to(w, [] {});
      if (!in_the_end([&] { return counts(w).parks > before && parked(w); })) return false;
    }
    return true;
  }

 private:
  /// Makes the engine, and waits until all of its workers sleep. Returns whether its first task was short, as it is
  /// not always on a slow machine: of long tasks a few are fetched from afar.
  bool starts(const profile& p) {
    inside_ = &inside_of(e_.emplace(p));
    REQUIRE(settled());
    return std::ranges::all_of(e_->groups().groups(), [this](const locality_group& g) {
      return inside_->board(g.id).mean_task_time_ns() <= first_task_time_ns;
    });
  }

  std::vector<std::unique_ptr<gate>> gates_;
  std::optional<engine> e_;
  runtime* inside_ = nullptr;
  metrics_snapshot at_first_;
};

} // namespace corewise::tests
