#pragma once

#include <corewise/topology/binding.hpp>

#include <cstdint>
#include <functional>
#include <thread>

namespace corewise::command {

/// Two CPUs between which something is measured.
struct cpu_pair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool one_core = false; ///< they are hardware threads of one core
};

/// Calls `f` on a thread of its own that runs on `cpu` only, and waits for it. Returns why it did not, if so.
refusal run_on(std::uint32_t cpu, const std::function<void()>& f);
/// Calls both at the same time, each on a thread of its own that runs on its CPU only, and waits for them. If
/// it returns a reason why it did not, it has called neither.
refusal run_together(const cpu_pair& on, const std::function<void()>& first,
                     const std::function<void()>& second);

/// Spins until `seen()` returns true. Returns whether it spun for so long that it offered the CPU to other
/// threads. Then the other side did not run at the same time, and the sample measures how the kernel shares
/// CPUs.
template <class Seen> bool spin_until(Seen seen) {
  constexpr int looks = 50'000; // some 20 us
  for (int i = 0; i < looks; ++i)
    if (seen()) return false;
  while (!seen()) std::this_thread::yield();
  return true;
}

} // namespace corewise::command
