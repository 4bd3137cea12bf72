#include "network.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace corewise::admin {

namespace ip = boost::asio::ip;

namespace {

ip::address plain(const ip::address& a) {
  return a.is_v6() && a.to_v6().is_v4_mapped() ? ip::make_address_v4(ip::v4_mapped, a.to_v6()) : a;
}

template <class Bytes> bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits) {
  for (std::size_t i = 0; i < a.size() && bits != 0; ++i) {
    const unsigned here = std::min(bits, 8U);
    if (((a[i] ^ b[i]) >> (8 - here)) != 0) return false;
    bits -= here;
  }
  return true;
}

} // namespace

network::network(const std::string& text) {
  const auto slash = text.find('/');
  boost::system::error_code why;
  address_ = ip::make_address(text.substr(0, slash), why);
  const unsigned most = address_.is_v4() ? 32 : 128;
  prefix_ = most;
  bool right = !why;
  if (slash != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + slash + 1, end, prefix_);
    right = right && read.ec == std::errc() && read.ptr == end && prefix_ <= most;
  }
  if (!right) throw std::invalid_argument("\"" + text + "\" is no network, as \"10.0.0.0/8\" is");
}

bool network::contains(const ip::address& address) const {
  const ip::address asked = plain(address);
  if (asked.is_v4() != address_.is_v4()) return false;
  return asked.is_v4() ? same_prefix(asked.to_v4().to_bytes(), address_.to_v4().to_bytes(), prefix_)
                       : same_prefix(asked.to_v6().to_bytes(), address_.to_v6().to_bytes(), prefix_);
}

bool allowed(const ip::address& address, const std::vector<network>& networks) {
  return plain(address).is_loopback() ||
         std::ranges::any_of(networks, [&](const network& n) { return n.contains(address); });
}

} // namespace corewise::admin
