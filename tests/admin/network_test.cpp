#include "network.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using boost::asio::ip::make_address;
using corewise::admin::allowed;
using corewise::admin::network;

TEST_CASE("admin: a network has the addresses with its prefix") {
  const network ten("10.32.0.0/11");
  CHECK(ten.contains(make_address("10.63.255.255")));
  CHECK(ten.contains(make_address("::ffff:10.33.0.1"))); // as a socket of IPv6 sees it
  CHECK_FALSE(ten.contains(make_address("10.64.0.0")));
  CHECK_FALSE(ten.contains(make_address("10.31.255.255")));
  CHECK_FALSE(ten.contains(make_address("fd00::1")));
  CHECK(network("fd00::/8").contains(make_address("fdff::1")));
  CHECK_FALSE(network("fd00::/8").contains(make_address("fe00::1")));
  CHECK(network("0.0.0.0/0").contains(make_address("1.2.3.4")));
  CHECK(network("192.168.1.7").contains(make_address("192.168.1.7")));
  CHECK_FALSE(network("192.168.1.7").contains(make_address("192.168.1.6")));
  for (const char* wrong :
       {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/8x", "fd00::/129", "example.org/8", "/8"})
    CHECK_THROWS_AS(network{wrong}, std::invalid_argument);
}

TEST_CASE("admin: the own machine is always allowed, others by a network") {
  CHECK(allowed(make_address("127.0.0.2"), {}));
  CHECK(allowed(make_address("::1"), {}));
  CHECK(allowed(make_address("::ffff:127.0.0.1"), {}));
  CHECK_FALSE(allowed(make_address("10.0.0.1"), {}));
  CHECK(allowed(make_address("10.0.0.1"), {network("192.168.0.0/16"), network("10.0.0.0/8")}));
}
