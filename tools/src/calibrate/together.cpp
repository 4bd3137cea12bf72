#include "together.hpp"

#include <array>
#include <latch>

namespace corewise::command {

namespace {

refusal pin_to_cpu(std::uint32_t cpu) {
  const refusal why = pin_this_thread(cpu_set::range(cpu, cpu));
  return why ? "threads cannot be pinned to CPUs here: " + *why : why;
}

} // namespace

refusal run_on(std::uint32_t cpu, const std::function<void()>& f) {
  refusal why;
  std::jthread([&] {
    why = pin_to_cpu(cpu);
    if (!why) f();
  }).join();
  return why;
}

refusal run_together(const cpu_pair& on, const std::function<void()>& first,
                     const std::function<void()>& second) {
  std::array<refusal, 2> why;
  std::latch pinned(2); // publishes `why`
  const auto run = [&](std::size_t which, std::uint32_t cpu, const std::function<void()>& f) {
    why[which] = pin_to_cpu(cpu);
    pinned.arrive_and_wait();
    if (!why[0] && !why[1]) f();
  };
  {
    const std::jthread one([&] { run(0, on.first, first); });
    try {
      const std::jthread other([&] { run(1, on.second, second); });
    } catch (...) { // no second thread: the first must not wait for it
      why[1] = "no thread";
      pinned.count_down();
      throw;
    }
  }
  return why[0] ? why[0] : why[1];
}

} // namespace corewise::command
