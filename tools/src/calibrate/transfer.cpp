#include "transfer.hpp"

#include "places.hpp"

#include <corewise/topology/costs.hpp>

#include <atomic>

namespace corewise::command {

namespace {

constexpr std::uint64_t round_trips = 100; // of one sample
constexpr std::uint64_t over = ~std::uint64_t{0};

/// Two lines, for hardware that fetches pairs of them.
struct alignas(128) ball {
  /// The turn: odd is the partner's, even is ours. Publishes nothing else, but the stores must go through in
  /// their order.
  std::atomic<std::uint64_t> turn{0};
};

void answer(ball& b) {
  for (std::uint64_t expected = 1;; expected += 2) {
    std::uint64_t seen = 0;
    spin_until([&] { return (seen = b.turn.load(std::memory_order_acquire)) >= expected; });
    if (seen == over) return;
    b.turn.store(expected + 1, std::memory_order_release);
  }
}

void ask(ball& b, steady_time until, sample_list& samples) {
  std::uint64_t turn = 0;
  bool warm = false;
  do {
    bool spoilt = false;
    const steady_time begin = now();
    for (std::uint64_t i = 0; i < round_trips && !spoilt; ++i) {
      b.turn.store(turn + 1, std::memory_order_release);
      turn += 2;
      spoilt = spin_until([&] { return b.turn.load(std::memory_order_acquire) == turn; });
    }
    const double ns = ns_between(begin, now()) / static_cast<double>(2 * round_trips);
    if (spoilt)
      samples.spoil();
    else if (warm)
      samples.add(ns);
    warm = true;
  } while (now() < until);
  b.turn.store(over, std::memory_order_release);
}

} // namespace

std::string transfer_probe::name() const { return "transfer." + std::string(machine_costs::name_of(at_)); }

void transfer_probe::measure(steady_time until) {
  ball b;
  const refusal why =
      run_together(pairs_[turn_++ % pairs_.size()], [&] { ask(b, until, samples_); }, [&] { answer(b); });
  if (why) samples_.give_up(*why);
}

void transfer_probe::report(calibration& into) const { into.costs[name()] = samples_.result(told(pairs_)); }

} // namespace corewise::command
