#include "style.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>

namespace corewise::command {

namespace {

constexpr std::array<std::string_view, 7> codes{"1", "2", "1;36", "32", "36", "33", "1;31"}; // by ink

bool locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

bool colour_wanted() {
  const char* refused = std::getenv("NO_COLOR"); // https://no-color.org: set and not empty
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return ::isatty(STDOUT_FILENO) == 1 && !dumb && (refused == nullptr || *refused == '\0');
}

} // namespace

style style::of_standard_output(colour_use use) {
  return {use == colour_use::always || (use == colour_use::automatic && colour_wanted()), locale_is_utf8()};
}

std::string style::paint(ink what, std::string_view text) const {
  if (!coloured_ || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", codes[static_cast<std::size_t>(what)], text);
}

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

} // namespace corewise::command
