#include "line.hpp"

#include "../printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace corewise::command {

namespace {

constexpr std::size_t indent = 9; // behind it the fields stand

} // namespace

line& line::add(std::string_view text) {
  const fitted_text part = fitted(text, left_);
  text_ += part.text;
  left_ -= part.columns;
  return *this;
}

line& line::add(ink what, std::string_view text) {
  const fitted_text part = fitted(text, left_);
  text_ += look_->paint(what, part.text);
  left_ -= part.columns;
  return *this;
}

field_list::field_list(std::vector<std::string>& to, const style& look, std::size_t columns,
                       std::string_view title)
    : lines_(to),
      look_(look),
      columns_(columns),
      line_(look, columns) {
  line_.add(ink::title, fmt::format("{:<{}}", title, indent));
}

void field_list::add(std::string_view label, std::string_view value, ink what) {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  const std::size_t room = columns_ - std::min(columns_, indent);
  if (const std::size_t space = value.rfind(' ', room);
      value.size() > room && label.empty() && space != 0 && space != std::string_view::npos) {
    add({}, value.substr(0, space), what);
    return add({}, value.substr(space + 1), what);
  }
  const std::size_t wide = fitted(label, any).columns + fitted(value, any).columns + !label.empty() + 2;
  if (!first_ && wide > line_.left()) {
    lines_.push_back(line_.end());
    line_ = line(look_, columns_);
    line_.add(std::string(indent, ' '));
    first_ = true;
  }
  if (!first_) line_.add("  ");
  if (!label.empty()) line_.add(label).add(" ");
  line_.add(what, value);
  first_ = false;
}

} // namespace corewise::command
