#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corewise {

/// The number of a request, 128 bits, as the trace id of W3C Trace Context has. All zero: no request.
struct trace_id {
  std::uint64_t high = 0; ///< the first 16 hexadecimal digits
  std::uint64_t low = 0;

  constexpr explicit operator bool() const noexcept { return (high | low) != 0; }
  constexpr bool operator==(const trace_id&) const noexcept = default;
};

/// Returns the 32 hexadecimal digits, in small letters.
inline std::string to_string(trace_id id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = digits[(id.high >> (4 * i)) & 15U];
    text[31 - i] = digits[(id.low >> (4 * i)) & 15U];
  }
  return text;
}

/// Returns the id with those 32 hexadecimal digits in small letters, as a `traceparent` header has it after
/// `00-`, or nothing for any other text.
constexpr std::optional<trace_id> parse_trace_id(std::string_view digits) noexcept {
  if (digits.size() != 32) return std::nullopt;
  std::array<std::uint64_t, 2> halves{};
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char c = digits[i];
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return std::nullopt;
    halves[i / 16] = halves[i / 16] << 4U | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return trace_id{halves[0], halves[1]};
}

} // namespace corewise
