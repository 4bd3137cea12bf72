#pragma once

#include <corewise/simulator/workload.hpp>

#include <span>

namespace corewise {

struct workload_kind_word {
  workload::kind kind;
  std::string_view name;
};

/// A word that stands after the kind, with the functions that read and write its value.
struct workload_key {
  std::string_view name;
  std::uint32_t kinds; ///< the kinds that have it: the sum of their `bit_of`
  bool is_flag;        ///< stands alone
  /// Reads the value into the workload. Returns "", or for a wrong value what would be right.
  std::string (*read)(workload& w, std::string_view value);
  /// Writes the value as it is read; nothing when the text may leave it out.
  std::optional<std::string> (*write)(const workload& w);
};

constexpr std::uint32_t bit_of(workload::kind k) noexcept {
  return std::uint32_t{1} << static_cast<unsigned>(k);
}

std::span<const workload_kind_word> workload_kinds() noexcept;
/// The keys in the order in which they are written.
std::span<const workload_key> workload_keys() noexcept;

/// The number of tasks of a tree; for trees that are too large some number above `largest_tree`.
std::uint64_t tree_size(std::uint32_t depth, std::uint32_t fanout) noexcept;
inline constexpr std::uint64_t largest_tree = 1'000'000;

} // namespace corewise
