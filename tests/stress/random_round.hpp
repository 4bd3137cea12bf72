#pragma once

#include <corewise/engine/engine.hpp>
#include <corewise/policies/policy.hpp>

#include <array>
#include <atomic>
#include <utility>
#include <vector>

// The books of a round of random_sequences: each task's fate, and how often each operation was done.

namespace corewise::tests {

inline constexpr std::uint64_t operations_of_round = 50'000;

enum class operation : std::uint8_t {
  submit,
  yield,
  hand_over,
  block,
  await_child,
  drain,
  reload,
  retire,
  refused,
  count
};
inline constexpr std::array operation_names{"submitted", "yielded",  "handed over", "blocked", "awaited",
                                            "drained",   "reloaded", "retired",     "refused"};
using tally = std::array<std::uint64_t, static_cast<std::size_t>(operation::count)>;

/// The fate of one task. The holder of a task holds its tokens.
struct fate {
  std::atomic<std::uint8_t> accepted{0};
  std::atomic<std::uint8_t> runs{0};
  std::atomic<std::uint8_t> ends{0};
};

struct round {
  std::uint64_t seed;
  engine* on = nullptr;
  profile began_with;
  std::vector<fate> fates = std::vector<fate>(2 * operations_of_round);
  std::atomic<std::uint32_t> next_fate{0};
  std::atomic<std::uint64_t> done{0}; // operations
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(operation::count)> counts{};
  std::atomic<bool> closed{false};        // a submission was refused
  std::atomic<bool> child_awaited{false}; // one at a time: other workers must be free to run the child
  bool may_await_child = false;
  bool never_times_out = false;
  std::uint32_t workers = 0;
  std::uint32_t groups = 0;
  std::atomic<std::int64_t> threads_in_tasks{0};

  explicit round(std::uint64_t s) : seed(s) {}

  void count(operation o) {
    counts[static_cast<std::size_t>(o)].fetch_add(1, std::memory_order_relaxed);
    if (o != operation::refused) done.fetch_add(1, std::memory_order_relaxed);
  }
  bool over() const { return done.load(std::memory_order_relaxed) >= operations_of_round; }
};

/// Exactly one task holds it, from the task's making to its end.
class token {
 public:
  token(round& r, std::uint32_t number) : round_(&r), number_(number) {}
  token(token&& other) noexcept : round_(std::exchange(other.round_, nullptr)), number_(other.number_) {}
  token& operator=(token&&) = delete;
  ~token() {
    if (round_ != nullptr) at().ends.fetch_add(1, std::memory_order_relaxed);
  }
  void ran() const { at().runs.fetch_add(1, std::memory_order_relaxed); }
  round& in() const { return *round_; }
  /// Returns a generator for the task's own choices.
  placement_rng rng() const { return placement_rng(round_->seed * 0x9E3779B97F4A7C15ULL + number_); }

 private:
  fate& at() const { return round_->fates[number_]; }

  round* round_;
  std::uint32_t number_;
};

} // namespace corewise::tests
