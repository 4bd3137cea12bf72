#pragma once

#include "http_client.hpp"

#include <corewise/engine/profile.hpp>

#include <cstdint>
#include <string>

// Shared by the tests that ask an admin server.

namespace corewise::tests {

inline profile small(std::uint32_t workers) {
  profile p;
  p.workers.total = workers;
  p.workers.pin = pin_to::none;
  return p;
}

/// Sends a request, and returns all that comes until the connection is closed.
inline std::string ask(const client& c, const std::string& line,
                       const std::string& fields = "Host: localhost\r\n", const std::string& body = "") {
  const std::string length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
  static_cast<void>(c.send(line + " HTTP/1.1\r\n" + fields + length + "\r\n" + body));
  return c.rest();
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
inline bool is(const std::string& response, int status) {
  return response.rfind("HTTP/1.1 " + std::to_string(status), 0) == 0;
}

} // namespace corewise::tests
