#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace corewise::detail {

/// Reads the text of a small file of /proc or /sys, without blanks at its ends. Returns nothing when the file
/// cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);
/// Returns the names in a directory; none where it cannot be read. (The iterator of std::filesystem ends the process
/// where there is no memory.) Throws `std::bad_alloc`.
std::vector<std::string> names_in(const std::filesystem::path& directory);

/// Reads a mask of CPUs as the kernel writes it, "00000001,0000000f": words of 32 bits in hexadecimal, the
/// highest first. Returns nothing when `text` is anything else or names a CPU above `cpu_set::largest`.
std::optional<cpu_set> parse_mask(std::string_view text);

/// Reads a decimal number. Returns nothing when `text` is anything else.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Returns a part of a whole in percent, in steps of five: from 5 to 100.
std::uint32_t percent_of(std::uint64_t part, std::uint64_t whole) noexcept;

/// Reads facts below a root. A missing file gives nothing. A file that makes no sense gives nothing too, and
/// the tree remembers it. One thread at a time.
class fact_tree {
 public:
  explicit fact_tree(std::filesystem::path root) : root_(std::move(root)) {}

  std::optional<std::string> text(const std::string& file) const { return read_text(root_ / file); }
  std::optional<std::uint64_t> number(const std::string& file);
  std::optional<cpu_set> cpus(const std::string& file);
  /// Reads distances between nodes, from 1 to 65535, with blanks between them.
  std::optional<std::vector<std::uint32_t>> distances(const std::string& file);
  /// Reads the first of these files that there is: lists of CPUs, and behind them masks, which older kernels
  /// have alone.
  std::optional<cpu_set> cpus(const std::vector<std::string>& lists, const std::vector<std::string>& masks);
  /// The numbers N of the directories `directory`/`prefix`N, ascending.
  std::vector<std::uint32_t> numbered(const std::string& directory, const std::string& prefix) const;

  /// The files that made no sense, in words for people, many in one line.
  std::vector<std::string> complaints() const;

 private:
  std::optional<cpu_set> mask(const std::string& file);

  std::filesystem::path root_;
  std::vector<std::string> nonsense_;
};

} // namespace corewise::detail
