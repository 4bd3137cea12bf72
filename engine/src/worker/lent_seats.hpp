#pragma once

#include "worker/shared.hpp"

#include <bit>

// The seats that are lent now. Call from any thread.

namespace corewise::detail {

/// Calls f(worker, lending) for each seat that is lent. Cost: a word for 64 workers.
template <class F> void for_each_lent(const shared& engine, const F& f) noexcept {
  for (const locality_group& g : engine.groups().groups()) {
    const worker_bits& away = engine.board(g.id).unavailable;
    for (std::size_t word = 0; word * 64 < away.size(); ++word) {
      for (std::uint64_t bits = away.word(word); bits != 0; bits &= bits - 1) {
        const std::size_t index = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        const worker_id w = engine.layout().of_group(g.id)[index].id;
        if (const auto lending = engine.seat(w).lender().lending()) f(w, *lending);
      }
    }
  }
}

/// Returns how many tasks wait for workers whose seats are lent, and come to no other worker of their group.
std::uint64_t tasks_waiting_for_a_seat(const shared& engine) noexcept;

} // namespace corewise::detail
