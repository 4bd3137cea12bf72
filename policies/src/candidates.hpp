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
  std::uint32_t index = 0; ///< in its group
};

/// The workers among which a policy chooses, if it leaves workers out only for hints and blocking calls: the
/// available ones that fulfil the hint. If there are none, all available ones; if no worker at all is
/// available, the same as if all were. One question to a policy, on the caller's stack; allocates nothing.
///
/// Cost: without a hint nothing beyond the `unavailable` bits of the workers that it returns; with one a word
/// of bits for each 64 workers of a group, and a look at each group.
///
/// Bits may change between two looks. It returns a worker all the same, one that was a candidate a moment
/// ago.
class candidates {
 public:
  /// A choice among these workers; all arguments must outlive it.
  candidates(const locality_groups& groups, const load_view& loads, const placement_hint& hint) noexcept
      : groups_(groups),
        loads_(loads),
        hint_(hint) {}

  /// Calls `visit(candidate)` for each in the order of ids, until it returns false.
  template <class Visit> void each(const Visit& visit) noexcept {
    for (const admission& a : strictest_first)
      if (walk(a, visit)) {
        settled_ = a;
        return;
      }
  }

  /// Draws one candidate, each as likely. Cost: one bit while most workers are available.
  candidate draw(placement_rng& rng) noexcept;
  /// Draws two different candidates, each pair as likely; twice the same where there is only one.
  std::pair<candidate, candidate> draw_two(placement_rng& rng) noexcept;
  /// The first candidate at or after the cursor, which moves past it. Hinted tasks have a rotation of their
  /// own.
  candidate next_in_turn(placement_cursor& cursor) noexcept;
  /// Returns whether this worker is a candidate.
  bool include(worker_id worker) noexcept;

  /// Returns whether the hint has made a difference: an available worker fulfils it, or no worker is
  /// available and one fulfils it.
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

  /// Calls `visit` with each admitted worker until it returns false. Returns whether there was an admitted
  /// worker.
  template <class Visit> bool walk(const admission& a, const Visit& visit) const noexcept {
    bool any = false;
    each_word(a, [&](group_id g, std::uint32_t first, std::uint64_t left) {
      const std::uint32_t group_begins = loads_.layout().of_group(g).front().id.value;
      for (; left != 0; left &= left - 1) {
        any = true;
        const std::uint32_t index = first + static_cast<std::uint32_t>(std::countr_zero(left));
        if (!visit(candidate{{group_begins + index}, g, index})) return false;
      }
      return true;
    });
    return any;
  }

  /// Calls `visit(group, first, bits)` for each 64 workers of a group, from index `first` on, if some of them
  /// are admitted, until it returns false.
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
      const std::uint32_t index = hint_.worker->value - loads_.layout().of_group(g).front().id.value;
      bits &= index >= first && index - first < 64 ? std::uint64_t{1} << (index - first) : 0;
    }
    return bits;
  }

  bool available(const candidate& c) const noexcept {
    return !loads_.board(c.group).unavailable.test(c.index);
  }
  std::uint32_t workers() const noexcept { return static_cast<std::uint32_t>(loads_.layout().size()); }

  /// Finds which workers are admitted and how many there are.
  void settle() noexcept;
  /// The n-th of the admitted workers, from 0; the last one when there are no longer so many.
  candidate nth(std::uint32_t n) const noexcept;

  const locality_groups& groups_;
  const load_view& loads_;
  const placement_hint& hint_;
  std::optional<admission> settled_;
  std::uint32_t count_ = 0; // once settled by `settle`
};

/// Finds each group's best candidate, in the order of groups, with its key: the lowest key wins, of equal
/// keys the lowest worker. `key(candidate)` returns something that can be compared.
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
