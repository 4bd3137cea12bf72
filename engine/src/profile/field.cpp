#include "field.hpp"

#include "quotation.hpp"

#include <fmt/format.h>

namespace corewise::detail {

std::string key_path(std::string_view path, const element& which) {
  std::string out;
  auto index = which.indices.begin();
  auto name = which.names.begin();
  for (const char c : path) {
    if (c == ']' && index != which.indices.end()) out += fmt::format("{}", *index++);
    if (c == '*' && name != which.names.end())
      out += printable(*name++);
    else
      out += c;
  }
  return out;
}

} // namespace corewise::detail
