#pragma once

#include <boost/asio/ip/address.hpp>

#include <string>
#include <vector>

namespace corewise::admin {

/// A network of addresses, "10.0.0.0/8".
class network {
 public:
  /// Throws `std::invalid_argument` with the text.
  explicit network(const std::string& text);

  bool contains(const boost::asio::ip::address& address) const;

 private:
  boost::asio::ip::address address_;
  unsigned prefix_ = 0; // bits
};

/// Returns whether the address is of the own machine or of a network in the list. An IPv4 address may come as
/// one of IPv6.
bool allowed(const boost::asio::ip::address& address, const std::vector<network>& networks);

} // namespace corewise::admin
