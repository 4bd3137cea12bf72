#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

// Servers as processes of their own, and clients of plain sockets.

class server_process {
 public:
  /// Starts a program, which prints `format`, with its port, when it listens.
  server_process(const char* program, const char* format) {
    std::array<int, 2> output{};
    REQUIRE(::pipe(output.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      ::close(output[0]);
      ::execl(program, program, "0", nullptr);
      ::_exit(127);
    }
    ::close(output[1]);
    out_ = ::fdopen(output[0], "r");
    unsigned port = 0;
    REQUIRE(std::fscanf(out_, format, &port) == 1);
    port_ = static_cast<std::uint16_t>(port);
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    if (process_ > 0) static_cast<void>(end(SIGKILL));
    std::fclose(out_);
  }

  void signal(int number) const { ::kill(process_, number); }
  /// Returns its exit status.
  int end(int number) {
    signal(number);
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::uint16_t port() const { return port_; }

 private:
  pid_t process_ = -1;
  std::FILE* out_ = nullptr;
  std::uint16_t port_ = 0;
};

class client {
 public:
  explicit client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(fd_); }

  bool connected() const { return connected_; }
  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void end_of_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// Returns what comes, up to the end of a response, or of the connection.
  std::string response() const {
    std::string all;
    std::array<char, 4096> bytes{};
    for (;;) {
      const std::size_t head = all.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = all.find("Content-Length: ");
        if (at != std::string::npos && all.size() >= head + 4 + std::stoul(all.substr(at + 16))) return all;
      }
      const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (n <= 0) return all;
      all.append(bytes.data(), static_cast<std::size_t>(n));
    }
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
