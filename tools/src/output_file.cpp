#include "output_file.hpp"

#include "streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace corewise::command {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Returns whether the name, which may be a link, leads to a device or a pipe. Those lose nothing when they are written.
bool is_device(const std::string& file) {
  struct stat facts{};
  return ::stat(file.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

/// Returns whether writing there would lose something.
bool is_taken(const std::string& file) {
  std::error_code ignored;
  const auto status = fs::symlink_status(file, ignored);
  return !is_device(file) && (fs::is_regular_file(status) || fs::is_symlink(status));
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Does nothing where there is no disk, as behind a pipe.
int sync_to_disk(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno; }

int write_and_close(int fd, std::string_view text) {
  int error = write_all(fd, text);
  if (error == 0) error = sync_to_disk(fd);
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

/// Returns where to create the file that takes the place of `file`.
fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

/// Returns the file that a symbolic link leads to, which need not exist; otherwise the file itself.
fs::path target_of(const fs::path& file) {
  std::error_code error;
  fs::path target = file;
  constexpr int most_links = 40;
  for (int i = 0; i < most_links && fs::is_symlink(target, error); ++i)
    target = folder_of(target) / fs::read_symlink(target, error);
  return target;
}

/// Makes a file that does not exist. Where the file system can, the file gets its name when it is whole: so nothing is
/// left of it if a signal ends the process before. Elsewhere it is removed if it cannot be written.
int make_new(const fs::path& file, std::string_view text) {
  const int nameless = ::open(folder_of(file).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (nameless >= 0) {
    int error = write_all(nameless, text);
    if (error == 0) error = sync_to_disk(nameless);
    const std::string now = "/proc/self/fd/" + std::to_string(nameless);
    const bool named =
        error == 0 && ::linkat(AT_FDCWD, now.c_str(), AT_FDCWD, file.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (error == 0 && !named && errno == EEXIST) error = EEXIST;
    if (::close(nameless) != 0 && error == 0) error = errno;
    if (error != 0 || named) return error; // else there is no /proc, or the file system gives no names
  }
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return errno;
  const int error = write_and_close(fd, text);
  if (error != 0) ::unlink(file.c_str());
  return error;
}

/// Replaces a regular file by a new one with its permissions. Until then the old one stays whole.
int replace_whole(const fs::path& file, const struct stat& old, std::string_view text) {
  std::string beside = folder_of(file) / ".corewise-XXXXXX";
  const int fd = ::mkostemp(beside.data(), O_CLOEXEC);
  if (fd < 0) return errno;
  constexpr mode_t permissions = 0777;
  [[maybe_unused]] const int kept_owner =
      ::fchown(fd, old.st_uid, old.st_gid); // only root may give files away
  int error = ::fchmod(fd, old.st_mode & permissions) == 0 ? 0 : errno;
  const int written = write_and_close(fd, text);
  if (error == 0) error = written;
  if (error == 0 && ::rename(beside.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

/// Writes into a device or a pipe, which is there.
int write_into(const fs::path& file, std::string_view text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  return fd < 0 ? errno : write_and_close(fd, text);
}

} // namespace

bool is_standard_output(std::string_view file) noexcept { return file == "-" || file == "/dev/stdout"; }

output_file::output_file(std::string name, bool replace) : name_(std::move(name)), replace_(replace) {
  if (is_standard_output(name_)) return; // open already, also where it is a file
  std::error_code ignored;
  if (fs::is_directory(name_, ignored)) fail(EISDIR, name_);
  if (!replace_ && is_taken(name_)) fail(EEXIST, name_ + " (--force overwrites it)");
  if (::access(name_.c_str(), F_OK) == 0) {
    if (::access(name_.c_str(), W_OK) != 0) fail(errno, name_);
    if (is_device(name_)) return;
  }
  const fs::path folder = folder_of(target_of(name_));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(errno, name_);
}

void output_file::print_report(std::string_view text) const {
  return is_standard_output(name_) ? print_beside(text) : print(text);
}

void output_file::write(std::string_view text) const {
  if (is_standard_output(name_)) return print(text);
  const int error = is_device(name_) ? write_into(name_, text) : write_file(text);
  if (error != 0) fail(error, name_);
}

int output_file::write_file(std::string_view text) const {
  if (!replace_) return make_new(name_, text); // refuses a file or a link that has come meanwhile
  const fs::path target = target_of(name_);
  struct stat old{};
  return ::stat(target.c_str(), &old) == 0 ? replace_whole(target, old, text) : make_new(target, text);
}

} // namespace corewise::command
