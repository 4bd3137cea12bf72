#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

/// A connection to a server, by a plain socket.
class client {
 public:
  /// Connects from an address of the loopback's network.
  explicit client(std::uint16_t port, in_addr_t from = INADDR_LOOPBACK)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(from);
    // Only where it must: a port that `bind` chooses may be that of a server that has just ended, and then the client
    // connects to itself.
    if (from != INADDR_LOOPBACK && ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      return;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  /// Connects to a unix socket.
  explicit client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path.copy(at.sun_path, sizeof at.sun_path - 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(fd_); }

  bool connected() const { return connected_; }
  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// Has the destructor reset the connection, instead of closing it in order.
  void reset_at_end() const {
    const linger none{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  }
  /// Has calls that receive end after that time without a byte, with EAGAIN.
  void give_up_after(std::chrono::seconds time) const {
    const timeval limit{.tv_sec = time.count(), .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  void end_of_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// Returns what has come, or comes next; nothing at the end of the connection, and after an error (`errno`).
  std::string some() const {
    std::array<char, 4096> bytes{};
    const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }
  /// Returns what comes, up to the end of a response, or of the connection.
  std::string response() const {
    std::string all;
    for (;;) {
      const std::size_t head = all.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = all.find("Content-Length: ");
        if (at != std::string::npos && all.size() >= head + 4 + std::stoul(all.substr(at + 16))) return all;
      }
      const std::string more = some();
      if (more.empty()) return all;
      all += more;
    }
  }
  /// Returns all that comes until the connection is closed.
  std::string rest() const {
    std::string all;
    std::array<char, 16'384> part{};
    for (ssize_t n = 0; (n = ::recv(fd_, part.data(), part.size(), 0)) > 0;)
      all.append(part.data(), static_cast<std::size_t>(n));
    return all;
  }
  /// Returns as many bytes as come.
  std::string receive(std::size_t bytes) const {
    std::string all(bytes, '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(fd_, all.data(), bytes, MSG_WAITALL))));
    return all;
  }
  std::string ask(const std::string& path) const {
    if (!send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")) return "";
    return response();
  }

 private:
  int fd_;
  bool connected_ = false;
};
