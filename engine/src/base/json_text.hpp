#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace corewise::detail {

/// Returns a text as JSON has it, in quotes; what is no UTF-8 becomes U+FFFD. Reports that must end in order without memory
/// write their lists and objects by hand: those of nlohmann allocate in their destructors, so without memory the process would
/// end there. Throws `std::bad_alloc`.
inline std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace corewise::detail
