#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace corewise::command {

/// A directory that stays open while files below it wait to be read, and its name as `find` prints it.
class open_directory {
 public:
  /// Takes the descriptor over. `path` stands before the names of its files: "" or ending in "/".
  open_directory(int fd, std::string path) noexcept;
  ~open_directory();
  open_directory(const open_directory&) = delete;
  open_directory& operator=(const open_directory&) = delete;

  int fd() const noexcept { return fd_; }
  const std::string& path() const noexcept { return path_; }

  /// How many of them there are now, and how long their paths are together. Any thread.
  static std::size_t count() noexcept { return count_.load(std::memory_order_relaxed); }
  static std::size_t path_bytes() noexcept { return path_bytes_.load(std::memory_order_relaxed); }

 private:
  int fd_;
  std::string path_;
  static std::atomic<std::size_t> count_; // relaxed: bounds on what is held, they publish nothing
  static std::atomic<std::size_t> path_bytes_;
};

/// A regular file that the walk came upon.
struct found_file {
  std::shared_ptr<const open_directory> where;
  std::string name;

  std::string path() const { return where->path() + name; }
};

/// Something that could not be read.
struct trouble {
  std::string path;
  std::string reason;
};

/// The meaning of an `errno`, in words. Any thread.
std::string reason_of(int error);

} // namespace corewise::command
