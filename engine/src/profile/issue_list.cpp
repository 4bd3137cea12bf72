#include "issue_list.hpp"

#include "quotation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace corewise::detail {

namespace {

/// Longer than any key path of the tables.
constexpr std::size_t longest_key = 120;

bool holds(const std::string& outer, const std::string& inner) {
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
}

} // namespace

void issue_list::add(text_position at, const std::string& key, const std::string& message) {
  keys_.insert(key);
  if (issues_.size() == most) {
    ++left_out_;
    return;
  }
  issues_.push_back({file_, at.line, at.column, printable(key, longest_key), message});
}

bool issue_list::concerns(const std::string& key) const {
  return std::ranges::any_of(keys_, [&](const std::string& k) { return holds(k, key) || holds(key, k); });
}

void issue_list::throw_if_any() && {
  if (issues_.empty()) return;
  std::ranges::stable_sort(issues_, {}, [](const profile_issue& i) { return std::tie(i.line, i.column); });
  if (left_out_ != 0)
    issues_.push_back(
        unreadable(file_, fmt::format("{} more errors are not shown; correct the first ones", left_out_)));
  throw profile_error(std::move(issues_));
}

profile_issue unreadable(const std::string& file, const std::string& message) {
  return {file, 0, 0, "", message};
}

} // namespace corewise::detail
