#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace corewise::command {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Returns whether writing there would lose something: a device loses nothing.
bool is_taken(const std::string& file) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(file, ignored);
  return std::filesystem::is_regular_file(status) || std::filesystem::is_symlink(status);
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

} // namespace

output_file::output_file(std::string name, bool replace) : name_(std::move(name)), replace_(replace) {
  if (!replace_ && is_taken(name_)) fail(EEXIST, name_ + " (--force overwrites it)");
  if (::access(name_.c_str(), F_OK) == 0) {
    if (::access(name_.c_str(), W_OK) != 0) fail(errno, name_);
    return;
  }
  const std::filesystem::path folder = std::filesystem::path(name_).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) fail(errno, name_);
}

void output_file::write(std::string_view text) const {
  const int fd =
      ::open(name_.c_str(),
             O_WRONLY | O_CREAT | O_CLOEXEC | (replace_ || !is_taken(name_) ? O_TRUNC : O_EXCL), 0666);
  if (fd < 0) fail(errno, name_);
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) fail(error, name_);
}

} // namespace corewise::command
