#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace corewise::detail {

/// One character of UTF-8: its code point and length in bytes.
struct character {
  char32_t code;
  std::size_t size;
};

/// Returns nothing when `text`, which is not empty, does not begin with a character: stray and missing bytes, overlong
/// forms, surrogates.
inline std::optional<character> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return character{lead, 1};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return std::nullopt;
  char32_t code = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::nullopt;
  return character{code, size};
}

/// Returns the first `longest` bytes of a text, or fewer: it is cut between two characters.
inline std::string_view up_to(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  return text.substr(0, longest);
}

/// Returns the text with `instead` in place of each byte that belongs to no character.
inline std::string in_utf8(std::string_view text, std::string_view instead = "\xEF\xBF\xBD") { // U+FFFD
  std::string out;
  while (!text.empty()) {
    const std::optional<character> c = first_character(text);
    const std::string_view bytes = text.substr(0, c ? c->size : 1);
    out += c ? bytes : instead;
    text.remove_prefix(bytes.size());
  }
  return out;
}

} // namespace corewise::detail
