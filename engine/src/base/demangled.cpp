#include "base/demangled.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace corewise::detail {

namespace {

constexpr std::size_t most_of_kind = 120;
constexpr std::string_view cut = "...";

/// Leaves out argument lists of templates, inner ones first and of these the longest, until the text is short
/// enough or has none left.
void leave_out_lists(std::string& text) {
  while (text.size() > most_of_kind) {
    std::size_t longest = 0;
    std::size_t at = 0;
    std::size_t open = std::string::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '<') open = i;
      if (text[i] != '>' || open == std::string::npos) continue;
      if (i + 1 - open > longest) longest = i + 1 - open, at = open;
      open = std::string::npos;
    }
    if (longest == 0) return;
    text.erase(at, longest);
  }
}

} // namespace

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

std::string kind_text(const char* name) {
  std::string text = demangled(name);
  leave_out_lists(text);
  if (text.size() <= most_of_kind) return text;
  // The end tells a function's closures apart.
  constexpr std::size_t kept = most_of_kind - cut.size();
  return text.replace(kept / 2, text.size() - kept, cut);
}

} // namespace corewise::detail
