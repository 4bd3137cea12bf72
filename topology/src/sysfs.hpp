#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <filesystem>

namespace corewise::detail {

/// The text of a small file of /proc or /sys, without blanks at its ends; nothing when it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

/// A decimal number; nothing when `text` is anything else.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Reads facts below a root. What is missing is nothing; what is there but makes no sense is nothing too, and
/// is remembered. One thread at a time.
class fact_tree {
 public:
  explicit fact_tree(std::filesystem::path root) : root_(std::move(root)) {}

  std::optional<std::string> text(const std::string& file) const { return read_text(root_ / file); }
  std::optional<std::uint64_t> number(const std::string& file);
  std::optional<cpu_set> cpus(const std::string& file);
  /// The numbers N of the directories `directory`/`prefix`N, ascending.
  std::vector<std::uint32_t> numbered(const std::string& directory, const std::string& prefix) const;

  /// For people: the files that made no sense, many in one line.
  std::vector<std::string> complaints() const;

 private:
  std::filesystem::path root_;
  std::vector<std::string> nonsense_;
};

} // namespace corewise::detail
