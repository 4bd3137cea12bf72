#pragma once

#include "policies/situation.hpp"

#include <corewise/simulator/workload.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

// The course of tasks when nothing costs anything, by arithmetic: each worker has a queue, first come, first
// served, so the end of a task is known as soon as it is placed.

namespace corewise::tests {

/// One queue for all, first come, first served: a task gets the worker that is free first.
struct one_queue {
  std::uint32_t place(const std::vector<std::int64_t>& free_at) const {
    return static_cast<std::uint32_t>(std::ranges::min_element(free_at) - free_at.begin());
  }
  void ended(std::uint32_t /*worker*/) const {}
};

/// Asks a policy, which is shown the loads at the time when a task comes from outside.
class asked_policy {
 public:
  /// Asks `rule` in place of the situation's own policy, unless it is null.
  asked_policy(situation& s, std::uint64_t seed, const policy* rule = nullptr)
      : s_(s),
        rule_(rule != nullptr ? *rule : s.rule()),
        rng_(seed),
        loads_(s.workers().size()) {
    for (std::uint32_t w = 0; w < loads_.size(); ++w) s.boards().set_load({w}, 0);
  }

  std::uint32_t place(const std::vector<std::int64_t>& /*free_at*/) {
    const worker_id chosen = rule_.place(s_.view(), s_.on_cpu(0), {}, rng_, cursor_).worker;
    s_.boards().set_load(chosen, ++loads_[chosen.value]);
    return chosen.value;
  }
  void ended(std::uint32_t worker) { s_.boards().set_load({worker}, --loads_[worker]); }

 private:
  situation& s_;
  const policy& rule_;
  placement_rng rng_;
  placement_cursor cursor_;
  std::vector<std::uint32_t> loads_;
};

/// How many tasks end, and which share of them ends before anything is measured.
struct path_length {
  std::uint64_t tasks = 100'000;
  double warm_up = .1;
};

/// The mean response time in ns of tasks on workers of those speeds.
template <class Rule>
double response_on_path(arrival_stream arrivals, const std::vector<double>& speeds, Rule rule,
                        const path_length& length) {
  struct ending {
    std::int64_t at;
    std::int64_t came;
    std::uint32_t worker;
    bool operator>(const ending& other) const { return at > other.at; }
  };
  std::priority_queue<ending, std::vector<ending>, std::greater<>> running;
  std::vector<std::int64_t> free_at(speeds.size());
  const auto unmeasured = static_cast<std::uint64_t>(static_cast<double>(length.tasks) * length.warm_up);
  std::uint64_t ended = 0;
  double sum = 0;
  while (ended < length.tasks) {
    const arrival task = arrivals.next().value();
    for (; !running.empty() && running.top().at <= task.time_ns && ended < length.tasks; running.pop()) {
      const ending& done = running.top();
      rule.ended(done.worker);
      if (++ended > unmeasured) sum += static_cast<double>(done.at - done.came);
    }
    const std::uint32_t worker = rule.place(free_at);
    free_at[worker] =
        std::max(free_at[worker], task.time_ns) + std::llround(task.service_ns / speeds[worker]);
    running.push({free_at[worker], task.time_ns, worker});
  }
  return sum / static_cast<double>(length.tasks - unmeasured);
}

} // namespace corewise::tests
