#include "streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

namespace corewise::command {

namespace {

/// Writes all of `text`. Returns the first error; nothing when it is written.
std::optional<int> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return std::nullopt;
}

/// Reads at most `limit` bytes. Returns the error, or 0.
int read_all(int fd, std::string& text, std::size_t limit) {
  std::array<char, 65536> block;
  while (text.size() < limit) {
    const ssize_t got = ::read(fd, block.data(), std::min(block.size(), limit - text.size()));
    if (got == 0) return 0;
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return errno;
  }
  return 0;
}

} // namespace

void guard_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) // open() returns the lowest free number, which is fd
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
}

void print(std::string_view text) {
  if (const auto error = write_all(STDOUT_FILENO, text))
    throw std::system_error(*error, std::generic_category(), "standard output");
}

void print_beside(std::string_view text) {
  if (const auto error = write_all(STDERR_FILENO, text))
    throw std::system_error(*error, std::generic_category(), "standard error");
}

void print_aside(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

void complain(std::string_view message) { print_aside(fmt::format("corewise: {}\n", message)); }

std::string read_text(const std::string& file, std::size_t limit) {
  const bool standard = file == "-";
  const int fd = standard ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), file);
  std::string text;
  const int error = read_all(fd, text, limit);
  if (!standard) ::close(fd);
  if (error != 0) throw std::system_error(error, std::generic_category(), standard ? "standard input" : file);
  return text;
}

} // namespace corewise::command
