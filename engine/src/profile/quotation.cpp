#include "quotation.hpp"

#include "base/utf8.hpp"

#include <fmt/format.h>

namespace corewise::detail {

namespace {

bool is_plain(const std::optional<character>& c) noexcept {
  return c && !is_control(c->code) && c->code != '\t' && c->code != '\n' && c->code != 0x85;
}

} // namespace

bool is_control(char32_t c) noexcept {
  return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F || (c >= 0x80 && c < 0xA0 && c != 0x85) ||
         c == 0xFEFF;
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string_view rest = up_to(text, longest);
  const bool whole = rest.size() == text.size();
  std::string out;
  while (!rest.empty()) {
    const std::optional<character> c = first_character(rest);
    const std::string_view bytes = rest.substr(0, c ? c->size : 1);
    if (is_plain(c))
      out += bytes;
    else
      for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    rest.remove_prefix(bytes.size());
  }
  return whole ? out : out + "...";
}

bool is_one_line(std::string_view text, std::size_t longest) noexcept {
  if (text.size() > longest) return false;
  while (!text.empty()) {
    const std::optional<character> c = first_character(text);
    if (!is_plain(c)) return false;
    text.remove_prefix(c->size);
  }
  return true;
}

std::string quote(std::string_view text) { return '"' + printable(text) + '"'; }

} // namespace corewise::detail
