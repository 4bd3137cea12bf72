#include "found_file.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

namespace corewise::command {

std::atomic<std::size_t> open_directory::count_{0};
std::atomic<std::size_t> open_directory::path_bytes_{0};

open_directory::open_directory(int fd, std::string path) noexcept : fd_(fd), path_(std::move(path)) {
  count_.fetch_add(1, std::memory_order_relaxed);
  path_bytes_.fetch_add(path_.size(), std::memory_order_relaxed);
}

open_directory::~open_directory() {
  if (fd_ >= 0) ::close(fd_); // AT_FDCWD is negative
  count_.fetch_sub(1, std::memory_order_relaxed);
  path_bytes_.fetch_sub(path_.size(), std::memory_order_relaxed);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

} // namespace corewise::command
