#pragma once

#include "../style.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corewise::command {

/// A line of a picture, which ends at the edge.
class line {
 public:
  line(const style& look, std::size_t columns) : look_(&look), left_(columns) {}

  line& add(std::string_view text);
  line& add(ink what, std::string_view text);
  std::size_t left() const noexcept { return left_; }
  std::string end() { return std::move(text_); }

 private:
  const style* look_;
  std::size_t left_;
  std::string text_;
};

/// Fields behind a title, on as many lines as they take.
class field_list {
 public:
  field_list(std::vector<std::string>& to, const style& look, std::size_t columns, std::string_view title);
  field_list(const field_list&) = delete;
  field_list& operator=(const field_list&) = delete;
  ~field_list() { lines_.push_back(line_.end()); }

  /// Adds "label value". Either may be empty. A value without a label may take several lines.
  void add(std::string_view label, std::string_view value, ink what = ink::number);

 private:
  std::vector<std::string>& lines_;
  const style& look_;
  std::size_t columns_;
  line line_;
  bool first_ = true;
};

} // namespace corewise::command
