#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

/// A set of CPU numbers (hardware threads, as Linux numbers them) of any size.
///
/// A value type: copy it freely, share it read-only between threads. Costs are linear in
/// `highest CPU / 64` unless stated otherwise.
class cpu_set {
 public:
  /// The largest CPU number that is accepted. A larger one in a list is an error, not an allocation.
  static constexpr std::uint32_t largest = 65535;

  cpu_set() = default;

  /// The CPUs `first` to `last`, both included; empty when `last < first`.
  static cpu_set range(std::uint32_t first, std::uint32_t last);

  /// Reads a Linux CPU list ("0-3,8", also with a stride, "0-14:2/4"; blanks around it are ignored; "" is
  /// empty). Returns nothing when the text is not such a list or names a CPU above `largest`.
  static std::optional<cpu_set> parse(std::string_view list);

  void insert(std::uint32_t cpu);
  void erase(std::uint32_t cpu);
  bool contains(std::uint32_t cpu) const noexcept;
  bool empty() const noexcept { return words_.empty(); }
  std::size_t size() const noexcept;

  /// The lowest CPU; undefined for an empty set.
  std::uint32_t first() const noexcept;
  /// The CPUs in ascending order.
  std::vector<std::uint32_t> to_vector() const;
  /// The shortest Linux CPU list, "0-3,8"; "" for the empty set.
  std::string to_string() const;

  bool intersects(const cpu_set& other) const noexcept;
  bool is_subset_of(const cpu_set& other) const noexcept;

  cpu_set& operator&=(const cpu_set& other);
  cpu_set& operator|=(const cpu_set& other);
  /// Takes away the CPUs of `other`.
  cpu_set& operator-=(const cpu_set& other);

  friend cpu_set operator&(cpu_set a, const cpu_set& b) { return a &= b; }
  friend cpu_set operator|(cpu_set a, const cpu_set& b) { return a |= b; }
  friend cpu_set operator-(cpu_set a, const cpu_set& b) { return a -= b; }
  friend bool operator==(const cpu_set&, const cpu_set&) = default;

 private:
  void trim();

  std::vector<std::uint64_t> words_; // the last word is never 0, so that equal sets have equal words
};

} // namespace corewise
