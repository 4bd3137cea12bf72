#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace corewise::admin {

/// The secret by which callers from elsewhere show that they may do more than read.
class token {
 public:
  static constexpr std::size_t shortest = 16;

  /// Reads it from the file's first line; no file: there is none. Throws `std::system_error` if the file cannot be read,
  /// `std::invalid_argument` if it has fewer than `shortest` characters.
  explicit token(const std::filesystem::path& file);

  explicit operator bool() const noexcept { return !secret_.empty(); }
  /// Returns whether the field `Authorization` is "Bearer" with the secret. The time that it takes says nothing of the
  /// secret but its length.
  bool is_in(std::string_view authorization) const noexcept;

 private:
  std::string secret_;
};

} // namespace corewise::admin
