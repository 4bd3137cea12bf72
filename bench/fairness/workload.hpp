#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

// 200 tasks that give way to each other 1,000 times each. Told is the longest time that any of them waited for its turn. The size is
// the number of tasks.

namespace corewise::bench::fairness {

constexpr std::uint64_t usual_size = 200;
constexpr std::uint32_t turns = 1'000;
constexpr std::uint32_t passes = 20; // of a round

/// One of the tasks, between its turns.
class turn_taker {
 public:
  explicit turn_taker(command::finish_line& end) : end_(end) {}

  /// Takes a turn; answers whether it has another.
  bool take() {
    const auto now = std::chrono::steady_clock::now();
    if (left_ != turns) longest_ = std::max(longest_, now - last_);
    last_ = now;
    if (--left_ != 0) return true;
    end_.cross(1);
    return false;
  }
  double longest_us() const { return std::chrono::duration<double, std::micro>(longest_).count(); }

 private:
  command::finish_line& end_;
  std::uint32_t left_ = turns;
  std::chrono::steady_clock::time_point last_;
  std::chrono::steady_clock::duration longest_{0};
};

/// The longest wait of a pass, in us. `begin(turn_taker&)` starts one of the tasks.
template <class Begin> double longest_wait_us(std::uint64_t tasks, Begin begin) {
  command::finish_line end(tasks);
  std::vector<turn_taker> all(tasks, turn_taker(end));
  for (turn_taker& t : all) begin(t);
  end.wait();
  double longest = 0;
  for (const turn_taker& t : all) longest = std::max(longest, t.longest_us());
  return longest;
}

template <class Begin> std::vector<double> longest_waits_us(const options& o, Begin begin) {
  std::vector<double> result;
  for (std::uint32_t i = 0; i < passes; ++i) static_cast<void>(longest_wait_us(o.size, begin));
  for (std::uint32_t i = 0; i < o.rounds * passes; ++i) result.push_back(longest_wait_us(o.size, begin));
  return result;
}

/// For pools of closures, which give way by posting what is left of them.
template <class Pool> void take_turns(Pool& pool, turn_taker& t) {
  pool.post([&pool, &t] {
    if (t.take()) take_turns(pool, t);
  });
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  Pool pool(o);
  return print_samples({"fairness", pool.name, "closure"}, o,
                       longest_waits_us(o, [&](turn_taker& t) { take_turns(pool, t); }));
}

} // namespace corewise::bench::fairness
