#pragma once

#include "asking.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>

#include <unistd.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corewise::tests {

inline std::string socket_path() { return "/tmp/corewise_admin_test." + std::to_string(::getpid()); }

/// An engine with both sockets, and the log.
struct served {
  explicit served(profile p) : e(std::move(p)), server(e, with(*this)) {}

  static admin::options with(served& self) {
    admin::options o;
    o.control = socket_path();
    o.read_only = "127.0.0.1:0";
    o.hosts = {"scraped.example"};
    o.log = [&self](std::string_view line) {
      const std::scoped_lock lock(self.mutex);
      self.lines.emplace_back(line);
    };
    return o;
  }
  std::string read(const std::string& line, const std::string& fields = "Host: localhost\r\n") const {
    return ask(client(server.port()), line, fields);
  }
  std::string control(const std::string& line, const std::string& body = "") const {
    return ask(client(socket_path()), line, "", body);
  }
  bool logged(const std::string& part) {
    const std::scoped_lock lock(mutex);
    for (const std::string& line : lines)
      if (has(line, part)) return true;
    return false;
  }

  std::mutex mutex;
  std::vector<std::string> lines;
  engine e;
  admin::server server;
};

} // namespace corewise::tests
