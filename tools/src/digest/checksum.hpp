#pragma once

#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace corewise::command {

/// SHA-256 of one piece of data after another. One thread at a time.
class checksum {
 public:
  /// Begins a digest. Throws `std::runtime_error` when libcrypto has no SHA-256.
  checksum();

  void add(std::span<const std::byte> data);
  /// The digest of what was added since the last one, as 64 hexadecimal digits; begins anew.
  std::string finish();

 private:
  void begin();

  struct release {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, release> context_;
};

/// The name with backslash, new line and carriage return escaped.
std::string escaped(std::string_view name);
/// Appends a line as `sha256sum` prints it: a name that must be escaped has a backslash before its digest.
void append_line(std::string& lines, std::string_view digest, std::string_view name);

} // namespace corewise::command
