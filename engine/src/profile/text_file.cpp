#include "text_file.hpp"

#include "issue_list.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace corewise::detail {

namespace {

class descriptor {
 public:
  explicit descriptor(const std::filesystem::path& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (is_open()) ::close(fd_);
  }

  bool is_open() const noexcept { return fd_ >= 0; }

  /// Reads as read(2), but signals do not end it.
  ssize_t read(char* to, std::size_t bytes) const noexcept {
    for (;;) {
      const ssize_t n = ::read(fd_, to, bytes);
      if (n >= 0 || errno != EINTR) return n;
    }
  }

 private:
  int fd_;
};

[[noreturn]] void throw_unreadable(const std::filesystem::path& file) {
  const std::string reason = std::generic_category().message(errno);
  throw profile_error({unreadable(file.empty() ? "\"\"" : file.string(), "cannot be read: " + reason)});
}

} // namespace

std::string read_text_file(const std::filesystem::path& file) {
  const descriptor opened(file);
  if (!opened.is_open()) throw_unreadable(file);
  std::string text(text_bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = opened.read(text.data() + size, text.size() - size);
    if (n < 0) throw_unreadable(file);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

} // namespace corewise::detail
