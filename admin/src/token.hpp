#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace corewise::admin {

/// Reads a token from the file's first line, without blanks at its end. Throws `std::system_error` if the file cannot be
/// read, `std::invalid_argument` if the line has fewer than `token::shortest` characters.
std::string read_token(const std::filesystem::path& file);

/// The secret by which callers from elsewhere show that they may do more than read.
class token {
 public:
  static constexpr std::size_t shortest = 16;

  /// No file: there is none. Throws as `read_token`.
  explicit token(const std::filesystem::path& file) : secret_(file.empty() ? "" : read_token(file)) {}

  explicit operator bool() const noexcept { return !secret_.empty(); }
  /// Returns whether the field `Authorization` is "Bearer" with the secret. The time that it takes says nothing of the
  /// secret but its length.
  bool is_in(std::string_view authorization) const noexcept;

 private:
  std::string secret_;
};

} // namespace corewise::admin
