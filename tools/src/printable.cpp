#include "printable.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

namespace corewise::command {

namespace {

/// Calls `f(bytes, columns)` for each character, until it returns false. A character that cannot be shown is
/// "?".
template <class F> void for_each_character(std::string_view text, const F& f) {
  static const bool locale_is_set = std::setlocale(LC_CTYPE, "") != nullptr;
  static_cast<void>(locale_is_set);
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t c = 0;
    std::size_t bytes = std::mbrtowc(&c, text.data(), text.size(), &state);
    const bool readable = bytes != 0 && bytes <= text.size(); // else the end of the string, or an error
    const int columns = readable ? ::wcwidth(c) : -1;
    if (!readable) bytes = 1, state = {};
    const bool more = columns < 0 && text.front() != '\n'
                          ? f(std::string_view("?"), std::size_t{1})
                          : f(text.substr(0, bytes), static_cast<std::size_t>(std::max(columns, 0)));
    if (!more) return;
    text.remove_prefix(bytes);
  }
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  for_each_character(text, [&](std::string_view character, std::size_t /*columns*/) {
    out += character;
    return true;
  });
  return out;
}

fitted_text fitted(std::string_view text, std::size_t columns) {
  fitted_text out{{}, 0};
  for_each_character(text, [&](std::string_view character, std::size_t wide) {
    if (character == "\n") character = "?", wide = 1;
    if (out.columns + wide > columns) return false;
    out.text += character;
    out.columns += wide;
    return true;
  });
  return out;
}

} // namespace corewise::command
