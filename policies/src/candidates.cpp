#include "candidates.hpp"

namespace corewise::detail {
namespace {

/// How many draws may bring up unavailable workers only, before all bits are counted.
constexpr int draws_most = 8;

/// Two different numbers below `bound`, which is at least 2; each pair as likely.
std::pair<std::uint32_t, std::uint32_t> two_below(std::uint32_t bound, placement_rng& rng) noexcept {
  const std::uint32_t first = rng.below(bound);
  const std::uint32_t second = rng.below(bound - 1);
  return {first, second + (second >= first ? 1 : 0)};
}

} // namespace

void candidates::settle() noexcept {
  if (settled_) return;
  for (const admission& a : strictest_first) {
    std::uint32_t count = 0;
    each_word(a, [&](group_id, std::uint32_t, std::uint64_t bits) {
      count += static_cast<std::uint32_t>(std::popcount(bits));
      return true;
    });
    if (count == 0) continue;
    settled_ = a;
    count_ = count;
    return;
  }
}

candidate candidates::nth(std::uint32_t n) const noexcept {
  candidate found = at({0});
  walk(*settled_, [&](const candidate& c) {
    found = c;
    return n-- != 0;
  });
  return found;
}

candidate candidates::draw(placement_rng& rng) noexcept {
  for (int i = 0; hint_.empty() && i < draws_most; ++i)
    if (const candidate c = at({rng.below(workers())}); available(c)) return c;
  settle();
  return nth(rng.below(count_));
}

std::pair<candidate, candidate> candidates::draw_two(placement_rng& rng) noexcept {
  for (int i = 0; hint_.empty() && workers() > 1 && i < draws_most; ++i) {
    const auto [a, b] = two_below(workers(), rng);
    const std::pair both{at({a}), at({b})};
    if (available(both.first) && available(both.second)) return both;
  }
  settle();
  if (count_ == 1) return {nth(0), nth(0)};
  const auto [a, b] = two_below(count_, rng);
  return {nth(a), nth(b)};
}

candidate candidates::next_in_turn(placement_cursor& cursor) noexcept {
  if (hinted()) return nth(cursor.among_hinted++ % count_);
  for (std::uint32_t i = 0; i < workers(); ++i) {
    const candidate c = at({(cursor.position + i) % workers()});
    if (!available(c)) continue;
    cursor.position = (c.worker.value + 1) % workers();
    return c;
  }
  const candidate c = at({cursor.position % workers()});
  cursor.position = (c.worker.value + 1) % workers();
  return c;
}

bool candidates::include(worker_id worker) noexcept {
  const candidate c = at(worker);
  if (hint_.empty() && available(c)) return true;
  settle();
  if (settled_->hinted && !(allows(hint_, groups_[c.group]) && allows(hint_, worker))) return false;
  return settled_->even_unavailable || available(c);
}

} // namespace corewise::detail
