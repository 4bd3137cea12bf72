#include "steal.hpp"

#include "places.hpp"
#include "small_engine.hpp"

#include <atomic>

namespace corewise::command {

namespace {

constexpr std::uint32_t tasks_a_round = 16;
constexpr std::uint64_t over = ~std::uint64_t{0};

/// The rounds of one engine. The victim fills its queue while the thief waits, and then waits until all of
/// its tasks have run.
class robbery {
 public:
  robbery(engine& e, steady_time until, sample_list& samples) : e_(e), until_(until), samples_(samples) {}

  void run() {
    post(e_, [this] { be_thief(); });
    thief_ready_.acquire();
    // Posts the victim to the other worker: the thief's worker waits in its task.
    post(e_, [this] { be_victim(); }, {.worker = worker_id{1 - thief_.value}});
    over_.acquire();
    e_.drain();
  }

 private:
  void be_thief() {
    thief_ = *e_.this_worker();
    thief_ready_.release();
    wait_for_next();
  }
  /// Waits for the next round. It is the thief's last task of a round, and its first of all.
  void wait_for_next() {
    const std::uint64_t next = round_ + 1;
    spoilt_ = spin_until([&] { return filled_.load(std::memory_order_acquire) >= next; });
    round_ = next;
    left_ = tasks_a_round;
    began_ = now();
  }

  void be_victim() {
    for (std::uint64_t round = 1; round == 1 || now() < until_; ++round) {
      for (std::uint32_t i = 0; i < tasks_a_round; ++i) post(e_, [this] { be_stolen(); });
      filled_.store(round, std::memory_order_release);
      spin_until([&] { return emptied_.load(std::memory_order_acquire) == round; });
    }
    filled_.store(over, std::memory_order_release);
    over_.release();
  }
  void be_stolen() {
    if (left_ == tasks_a_round) took(now());
    if (--left_ != 0) return;
    emptied_.store(round_, std::memory_order_release);
    wait_for_next();
  }
  void took(steady_time at) {
    if (round_ == 1) return; // warms up
    if (spoilt_)
      samples_.spoil();
    else
      samples_.add(ns_without_clock(began_, at));
  }

  engine& e_;
  steady_time until_;
  sample_list& samples_;
  worker_id thief_{};
  std::binary_semaphore thief_ready_{0}; // publishes `thief_`
  std::binary_semaphore over_{0};
  alignas(128) std::atomic<std::uint64_t> filled_{0}; // the round whose tasks wait
  alignas(128) std::atomic<std::uint64_t> emptied_{0};
  // the thief's
  alignas(128) std::uint64_t round_ = 0;
  std::uint32_t left_ = 0;
  bool spoilt_ = false;
  steady_time began_;
};

} // namespace

std::string steal_probe::name() const { return "steal." + std::string(machine_costs::name_of(at_)); }

void steal_probe::measure(steady_time until) {
  const cpu_pair& on = pairs_[turn_++ % pairs_.size()];
  const auto nothing = [] {};
  if (const refusal why = run_together(on, nothing, nothing)) return samples_.give_up(*why);
  cpu_set cpus;
  cpus.insert(on.first);
  cpus.insert(on.second);
  engine e(small_profile(cpus));
  robbery(e, until, samples_).run();
}

void steal_probe::report(calibration& into) const { into.costs[name()] = samples_.result(told(pairs_)); }

} // namespace corewise::command
