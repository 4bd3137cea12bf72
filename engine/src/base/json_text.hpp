#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace corewise::detail {

// Values as JSON has them. Reports that must end in order without memory put their lists and objects together from these:
// lists and objects of nlohmann allocate in their destructors, so without memory the process would end there. All throw
// `std::bad_alloc`.

/// In quotes; what is no UTF-8 becomes U+FFFD.
inline std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// `Scalar`: a number, or a bool.
template <class Scalar> std::string json_value(Scalar scalar) { return nlohmann::json(scalar).dump(); }

/// A list of `value(element)`, on one line.
template <class Range, class F> std::string json_list(const Range& all, F value) {
  std::string out = "[";
  for (const auto& one : all) {
    if (out.size() != 1) out += ',';
    out += value(one);
  }
  return out + ']';
}

} // namespace corewise::detail
