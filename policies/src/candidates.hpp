#pragma once

#include "hint_filter.hpp"

#include <corewise/policies/policy.hpp>

#include <array>
#include <bit>
#include <utility>

namespace corewise::detail {

/// One worker that may be chosen.
struct candidate {
  worker_id worker;
  group_id group;
  std::uint32_t place = 0; ///< in its group
};

/// Among whom a policy chooses, for those to which hints and blocking calls are all that leaves workers out:
/// the available ones that fulfil the hint; when there are none, all available ones; when nobody at all is
/// available, the same as if everybody were. One question to a policy, on the stack of the one who asks;
/// allocates nothing.
///
/// Cost: without a hint nothing beyond the `unavailable` bits of whom it answers; with one a word of bits for
/// each 64 workers of a group, and a look at each group.
///
/// Bits may change between two looks. It answers a worker all the same, one that was a candidate a moment ago.
class candidates {
 public:
  /// All arguments must outlive it.
  candidates(const locality_groups& groups, const load_view& loads, const placement_hint& hint) noexcept
      : groups_(groups),
        loads_(loads),
        hint_(hint) {}

  /// Calls `visit(candidate)` for each in the order of ids, until it answers false.
  template <class Visit> void each(const Visit& visit) noexcept {
    for (const admission& a : strictest_first)
      if (walk(a, visit)) {
        settled_ = a;
        return;
      }
  }

  /// One of them, each as likely. Cost: one bit while most workers are available.
  candidate draw(placement_rng& rng) noexcept;
  /// Two different ones, each pair as likely; twice the same where there is only one.
  std::pair<candidate, candidate> draw_two(placement_rng& rng) noexcept;
  /// The first at or after the cursor, which moves past it. Hinted tasks have a rotation of their own.
  candidate next_in_turn(placement_cursor& cursor) noexcept;
  /// Whether this worker is one of them.
  bool include(worker_id worker) noexcept;

  /// Whether the hint has made a difference: somebody available fulfils it, or nobody is available and
  /// somebody fulfils it.
  bool hinted() noexcept {
    if (hint_.empty()) return false;
    settle();
    return settled_->hinted;
  }

  candidate at(worker_id worker) const noexcept {
    const group_id g = loads_.layout()[worker].group;
    return {worker, g, worker.value - loads_.layout().of_group(g).front().id.value};
  }

 private:
  struct admission {
    bool hinted = false;
    bool even_unavailable = false;
  };
  static constexpr std::array<admission, 4> strictest_first{
      {{true, false}, {false, false}, {true, true}, {false, true}}};

  /// Calls `visit` with each admitted worker until it answers false; answers whether there was one.
  template <class Visit> bool walk(const admission& a, const Visit& visit) const noexcept {
    bool any = false;
    each_word(a, [&](group_id g, std::uint32_t first, std::uint64_t left) {
      const std::uint32_t group_begins = loads_.layout().of_group(g).front().id.value;
      for (; left != 0; left &= left - 1) {
        any = true;
        const std::uint32_t place = first + static_cast<std::uint32_t>(std::countr_zero(left));
        if (!visit(candidate{{group_begins + place}, g, place})) return false;
      }
      return true;
    });
    return any;
  }

  /// Calls `visit(group, first, bits)` for each 64 workers of a group, from place `first` on, of whom some are
  /// admitted, until it answers false.
  template <class Visit> void each_word(const admission& a, const Visit& visit) const noexcept {
    if (a.hinted && hint_.empty()) return;
    for (const locality_group& group : groups_.groups()) {
      if (a.hinted && !allows(hint_, group)) continue;
      const auto workers = static_cast<std::uint32_t>(loads_.layout().of_group(group.id).size());
      for (std::uint32_t first = 0; first < workers; first += 64)
        if (const std::uint64_t bits = admitted(a, group.id, first, workers); bits != 0)
          if (!visit(group.id, first, bits)) return;
    }
  }

  std::uint64_t admitted(const admission& a, group_id g, std::uint32_t first,
                         std::uint32_t workers) const noexcept {
    std::uint64_t bits = ~std::uint64_t{0} >> (64 - std::min(workers - first, 64U));
    if (!a.even_unavailable) bits &= ~loads_.board(g).unavailable.word(first / 64);
    if (a.hinted && hint_.worker) {
      const std::uint32_t place = hint_.worker->value - loads_.layout().of_group(g).front().id.value;
      bits &= place >= first && place - first < 64 ? std::uint64_t{1} << (place - first) : 0;
    }
    return bits;
  }

  bool available(const candidate& c) const noexcept {
    return !loads_.board(c.group).unavailable.test(c.place);
  }
  std::uint32_t workers() const noexcept { return static_cast<std::uint32_t>(loads_.layout().size()); }

  /// Finds who is admitted and how many there are.
  void settle() noexcept;
  /// The n-th of those who are admitted, from 0; the last one when there are no longer so many.
  candidate nth(std::uint32_t n) const noexcept;

  const locality_groups& groups_;
  const load_view& loads_;
  const placement_hint& hint_;
  std::optional<admission> settled_;
  std::uint32_t count_ = 0; // once settled by `settle`
};

/// Each group's best candidate, in the order of groups, with the key by which it is: the lowest key wins, of
/// equal ones the lowest worker. `key(candidate)` answers something that can be compared.
template <class Key> auto best_of_groups(candidates among, const Key& key) {
  using keyed = std::pair<candidate, decltype(key(candidate{}))>;
  std::vector<keyed> best;
  among.each([&](const candidate& c) {
    const auto k = key(c);
    if (best.empty() || best.back().first.group != c.group)
      best.push_back({c, k});
    else if (k < best.back().second)
      best.back() = {c, k};
    return true;
  });
  return best;
}

} // namespace corewise::detail
