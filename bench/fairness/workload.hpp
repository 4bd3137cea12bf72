#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

// 200 tasks that give way to each other 1,000 times each. The figure is the longest time that any of them
// waited for its turn. The size is the number of tasks.

namespace corewise::bench::fairness {

constexpr std::uint64_t usual_size = 200;
constexpr std::uint32_t turns = 1'000;
constexpr std::uint32_t passes = 20; // of a round

/// One of the tasks, between its turns.
class turn_taker {
 public:
  explicit turn_taker(command::finish_line& end) : end_(end) {}

  /// Takes a turn. Returns whether the task has another.
  bool take() {
    const auto now = std::chrono::steady_clock::now();
    if (left_ != turns) longest_ = std::max(longest_, now - last_);
    last_ = now;
    if (--left_ != 0) return true;
    end_.cross(1);
    return false;
  }
  std::uint32_t taken() const { return turns - left_; }
  double longest_us() const { return std::chrono::duration<double, std::micro>(longest_).count(); }

 private:
  command::finish_line& end_;
  std::uint32_t left_ = turns;
  std::chrono::steady_clock::time_point last_;
  std::chrono::steady_clock::duration longest_{0};
};

struct waits {
  std::vector<double> longest_us; ///< of each pass
  std::uint64_t taken = 0;        ///< turns
};

/// Runs a pass. `begin(turn_taker&)` starts one of the tasks.
template <class Begin> void take_all_turns(std::uint64_t tasks, Begin begin, waits& into) {
  command::finish_line end(tasks);
  std::vector<turn_taker> all(tasks, turn_taker(end));
  for (turn_taker& t : all) begin(t);
  end.wait();
  double longest = 0;
  for (const turn_taker& t : all) {
    longest = std::max(longest, t.longest_us());
    into.taken += t.taken();
  }
  into.longest_us.push_back(longest);
}

/// Measures, and prints the line.
template <class Begin> int run_turns(const contender& who, const options& o, Begin begin) {
  waits warm_up;
  for (std::uint32_t i = 0; i < passes; ++i) take_all_turns(o.size, begin, warm_up);
  waits all;
  for (std::uint32_t i = 0; i < o.rounds * passes; ++i) take_all_turns(o.size, begin, all);
  const std::uint64_t right = o.size * turns * o.rounds * passes;
  return print_samples(who, o, std::move(all.longest_us), {all.taken, right});
}

/// Takes turns in a pool of closures, which give way by posting the rest of their work.
template <class Pool> void take_turns(Pool& pool, turn_taker& t) {
  pool.post([&pool, &t] {
    if (t.take()) take_turns(pool, t);
  });
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  Pool pool(o);
  return run_turns({"fairness", pool.name, "closure"}, o, [&](turn_taker& t) { take_turns(pool, t); });
}

} // namespace corewise::bench::fairness
