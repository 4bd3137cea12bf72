#pragma once

#include <corewise/simulator/workload.hpp>

#include <span>

namespace corewise {

struct workload_kind_word {
  workload::kind kind;
  std::string_view name;
};

/// A word that stands after the kind: how it is read and written.
struct workload_key {
  std::string_view name;
  std::uint32_t kinds; ///< whose it is: the sum of `bit_of` them
  bool is_flag;        ///< stands alone
  /// Reads the value into the workload. Answers what would be right, "" when it is.
  std::string (*read)(workload& w, std::string_view value);
  /// The value as it is read; nothing when it need not be said.
  std::optional<std::string> (*write)(const workload& w);
};

constexpr std::uint32_t bit_of(workload::kind k) noexcept {
  return std::uint32_t{1} << static_cast<unsigned>(k);
}

std::span<const workload_kind_word> workload_kinds() noexcept;
/// In the order in which they are written.
std::span<const workload_key> workload_keys() noexcept;

/// Of trees that are too large some number above `largest_tree`.
std::uint64_t tree_size(std::uint32_t depth, std::uint32_t fanout) noexcept;
inline constexpr std::uint64_t largest_tree = 1'000'000;

} // namespace corewise
