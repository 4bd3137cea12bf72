#include "quotation.hpp"

#include <fmt/format.h>

namespace corewise::detail {

namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string_view cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && continues_character(text[longest])) --longest;
  return text.substr(0, longest);
}

} // namespace

std::string printable(std::string_view text, std::size_t longest) {
  const std::string_view shown = cut(text, longest);
  std::string out;
  for (const char c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return shown.size() < text.size() ? out + "..." : out;
}

std::string quote(std::string_view text) { return '"' + printable(text) + '"'; }

} // namespace corewise::detail
