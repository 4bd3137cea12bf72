#include "checksum.hpp"

#include <openssl/err.h>

#include <array>
#include <stdexcept>

namespace corewise::command {

namespace {

constexpr std::string_view to_escape = "\\\n\r";

void require(bool success) {
  if (success) return;
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  throw std::runtime_error(std::string("libcrypto's SHA-256: ") + text.data());
}

/// Fetches SHA-256 once: a context that is begun by name looks the algorithm up each time.
const EVP_MD* sha256() {
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                                    EVP_MD_free);
  return algorithm.get();
}

} // namespace

checksum::checksum() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr && sha256() != nullptr);
  begin();
}

void checksum::begin() { require(EVP_DigestInit_ex2(context_.get(), sha256(), nullptr) == 1); }

void checksum::add(std::span<const std::byte> data) {
  require(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1);
}

std::string checksum::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  begin();
  std::string text;
  text.reserve(std::size_t{2} * size);
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (to_escape.find(c) != std::string_view::npos) text += '\\';
    text += c == '\n' ? 'n' : c == '\r' ? 'r' : c;
  }
  return text;
}

void append_line(std::string& lines, std::string_view digest, std::string_view name) {
  const bool plain = name.find_first_of(to_escape) == std::string_view::npos;
  if (!plain) lines += '\\';
  lines += digest;
  lines += "  ";
  if (plain)
    lines += name;
  else
    lines += escaped(name);
  lines += '\n';
}

} // namespace corewise::command
