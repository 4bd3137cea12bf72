#pragma once

#include "issue_list.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace corewise::detail {

/// A text that is fit for the YAML parser, and the positions at which its lines begin.
class document_text {
 public:
  /// Removes the byte order mark and the carriage returns of CRLF line ends.
  explicit document_text(std::string_view text);

  const std::string& text() const noexcept { return text_; }

  /// Adds the errors of a text that must not be a profile: too many bytes, NUL and other control characters,
  /// bytes that are not UTF-8, tabs that indent. Returns whether there were none. Cost: one pass; a text that
  /// is too large is not read.
  bool check(issue_list& issues) const;

  /// Returns the position of a byte that is given by line and byte from 0. Cost: a look at a few hundred
  /// bytes, however long the line is.
  text_position position_of(std::size_t line, std::size_t byte) const;
  text_position position_of(std::size_t position) const;

 private:
  bool check_characters(issue_list& issues) const;
  void check_tabs(issue_list& issues) const;
  std::size_t characters_before(std::size_t position) const;

  static constexpr std::size_t block_bytes = 256;

  std::size_t size_before_;
  std::string text_;
  std::vector<std::size_t> lines_;      // positions
  std::vector<std::size_t> characters_; // before each block of the text
};

} // namespace corewise::detail
