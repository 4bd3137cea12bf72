#pragma once

#include "workload.hpp"

#include <axes/finish_signal.hpp>

#include <atomic>

namespace corewise::bench::matmul {

/// The wait for the four products of a phase, in pools in which no task can wait. The product that ends
/// last begins the next phase, or ends the phase around it.
struct phases {
  phases* const outer; ///< none: it is the whole
  const product of;
  std::uint64_t phase = 0;
  std::atomic<std::uint32_t> left{4};
  command::finish_signal* const end = nullptr;
};

template <class Pool> void begin(Pool& pool, const product& p, phases* outer);

template <class Pool> void begin_phase(Pool& pool, phases* of) {
  for (std::uint64_t i = 1; i < 4; ++i)
    pool.spawn([&pool, of, i, phase = of->phase] { begin(pool, of->of.quarter(i, phase), of); });
  begin(pool, of->of.quarter(0, of->phase), of);
}

template <class Pool> void arrive(Pool& pool, phases* at) {
  while (at->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    if (at->phase == 0) {
      at->phase = 1;
      at->left.store(4,
                     std::memory_order_relaxed); // the others come to know it by the tasks that are spawned
      return begin_phase(pool, at);
    }
    if (at->end != nullptr) return at->end->give();
    phases* const outer = at->outer;
    delete at;
    at = outer;
  }
}

template <class Pool> void begin(Pool& pool, const product& p, phases* outer) {
  if (!p.is_block()) return begin_phase(pool, new phases{outer, p});
  p.multiply();
  arrive(pool, outer);
}

template <class Pool> std::uint64_t pass(Pool& pool, matrices& m) {
  command::finish_signal end;
  phases whole{nullptr, m.whole(), 0, {4}, &end};
  pool.post([&] { begin_phase(pool, &whole); });
  end.wait();
  return 0;
}

} // namespace corewise::bench::matmul
