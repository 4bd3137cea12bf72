#include "document_text.hpp"

#include "base/utf8.hpp"
#include "quotation.hpp"
#include "text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace corewise::detail {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string with_plain_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

std::string name_of_control(char32_t c) {
  if (c == 0) return "found a NUL byte; a profile is text";
  if (c == '\r') return "found a carriage return inside a line; end lines with LF or CR LF";
  return fmt::format("found the control character U+{:04X}; remove it", static_cast<std::uint32_t>(c));
}

std::string name_of_encoding(std::string_view text) {
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return utf16 ? "found UTF-16; save the file as UTF-8"
               : "found bytes that are not UTF-8; save the file as UTF-8";
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_tab_indented(std::string_view line) {
  const std::size_t text = line.find_first_not_of(" \t");
  return text != std::string_view::npos && line[text] != '#' &&
         line.substr(0, text).find('\t') != std::string_view::npos;
}

/// Makes spaces of the tabs before comments and in empty lines, where they mean nothing: the parser refuses them
/// within a map.
void smooth_empty_lines(std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(" \t", begin), end);
    if (first == end || text[first] == '#') text.replace(begin, first - begin, first - begin, ' ');
    begin = end + 1;
  }
}

} // namespace

document_text::document_text(std::string_view text) : size_before_(text.size()) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  text_ = with_plain_line_ends(text.substr(0, text_bytes_max));
  smooth_empty_lines(text_);
  lines_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') lines_.push_back(i + 1);
  for (std::size_t begin = 0, characters = 0; begin <= text_.size(); begin += block_bytes) {
    characters_.push_back(characters);
    characters += characters_in(std::string_view(text_).substr(begin, block_bytes));
  }
}

bool document_text::check(issue_list& issues) const {
  if (size_before_ > text_bytes_max) {
    issues.add({}, "",
               fmt::format("found more than {} KiB; a profile has a few KiB, {} KiB at most",
                           text_bytes_max / 1024, text_bytes_max / 1024));
    return false;
  }
  if (!check_characters(issues)) return false;
  check_tabs(issues);
  return issues.empty();
}

bool document_text::check_characters(issue_list& issues) const {
  for (std::size_t at = 0; at < text_.size();) {
    const std::optional<character> c = first_character(std::string_view(text_).substr(at));
    if (!c || is_control(c->code)) {
      issues.add(position_of(at), "", c ? name_of_control(c->code) : name_of_encoding(text_));
      return false;
    }
    at += c->size;
  }
  return true;
}

void document_text::check_tabs(issue_list& issues) const {
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    const std::size_t end = l + 1 < lines_.size() ? lines_[l + 1] - 1 : text_.size();
    const std::string_view line = std::string_view(text_).substr(lines_[l], end - lines_[l]);
    if (is_tab_indented(line))
      issues.add(position_of(l, line.find('\t')), "", "found a tab in the indentation; indent with spaces");
  }
}

std::size_t document_text::characters_before(std::size_t position) const {
  const std::size_t block = position / block_bytes;
  return characters_[block] +
         characters_in(std::string_view(text_).substr(block * block_bytes, position % block_bytes));
}

text_position document_text::position_of(std::size_t line, std::size_t byte) const {
  line = std::min(line, lines_.size() - 1);
  const std::size_t begin = lines_[line];
  const std::size_t position = begin + std::min(byte, text_.size() - begin);
  const std::size_t characters = characters_before(position) - characters_before(begin);
  return {static_cast<std::uint32_t>(line + 1), static_cast<std::uint32_t>(characters + 1)};
}

text_position document_text::position_of(std::size_t position) const {
  const auto after = std::ranges::upper_bound(lines_, position);
  const auto line = static_cast<std::size_t>(after - lines_.begin()) - 1;
  return position_of(line, position - lines_[line]);
}

} // namespace corewise::detail
