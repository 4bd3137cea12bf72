#include "token.hpp"

#include <boost/beast/core/string.hpp>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace corewise::admin {

std::string read_token(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::system_error(errno, std::system_category(), file.string());
  std::string secret;
  std::getline(in, secret);
  const auto last = secret.find_last_not_of(" \t\r");
  secret.resize(last == std::string::npos ? 0 : last + 1);
  if (secret.size() < token::shortest)
    throw std::invalid_argument(file.string() + ": the first line is no token; it has fewer than " +
                                std::to_string(token::shortest) + " characters");
  return secret;
}

bool token::is_in(std::string_view authorization) const noexcept {
  constexpr std::string_view scheme = "bearer ";
  if (secret_.empty() || authorization.size() <= scheme.size()) return false;
  const std::string_view head = authorization.substr(0, scheme.size());
  if (!boost::beast::iequals({head.data(), head.size()}, {scheme.data(), scheme.size()})) return false;
  const std::string_view shown = authorization.substr(scheme.size());
  if (shown.size() != secret_.size()) return false;
  volatile unsigned char differs = 0; // so that no compiler ends the loop early
  for (std::size_t i = 0; i < shown.size(); ++i)
    differs = static_cast<unsigned char>(differs | (shown[i] ^ secret_[i]));
  return differs == 0;
}

} // namespace corewise::admin
