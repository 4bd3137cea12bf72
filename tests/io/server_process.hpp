#pragma once

#include "http_client.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
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

// Servers as processes of their own.

class server_process {
 public:
  /// Starts a program, which prints `format`, with its port, when it listens. With `profile` it gets the name of that file as
  /// well, and appends its errors to the file `errors`.
  server_process(const char* program, const char* format, const char* profile = nullptr,
                 const char* errors = nullptr) {
    std::array<int, 2> output{};
    REQUIRE(::pipe(output.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      ::close(output[0]);
      if (errors != nullptr) ::dup2(::open(errors, O_CREAT | O_APPEND | O_WRONLY, 0600), STDERR_FILENO);
      ::execl(program, program, "0", profile, nullptr);
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
