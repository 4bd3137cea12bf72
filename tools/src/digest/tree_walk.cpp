#include "tree_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace corewise::command {

namespace {

constexpr int folder_open_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr std::size_t entry_bytes = 64 * 1024;

/// Removes the last name of a list of names with a NUL behind each. Returns that name.
std::string pop_name(std::string& names) {
  names.pop_back();
  const std::size_t before = names.rfind('\0');
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::string name = names.substr(begin);
  names.resize(begin);
  return name;
}

unsigned char type_of(int directory, const char* name) {
  struct stat facts{};
  if (::fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(facts.st_mode));
}

bool is_dots(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

/// Opens the directory `levels` above the one given.
int open_above(int fd, std::size_t levels) {
  constexpr std::size_t at_once = 1000; // as a path, far below PATH_MAX
  int at = fd;
  while (levels > 0) {
    const std::size_t step = std::min(levels, at_once);
    std::string up;
    for (std::size_t i = 0; i < step; ++i) up += "../";
    const int above = ::openat(at, up.c_str(), folder_open_flags);
    const int error = errno;
    if (at != fd) ::close(at);
    errno = error;
    if (above < 0) return -1;
    at = above;
    levels -= step;
  }
  return at;
}

} // namespace

tree_walk::tree_walk(listener hears, std::size_t held_most)
    : hears_(std::move(hears)),
      held_most_(held_most),
      entries_(entry_bytes) {}

void tree_walk::run(const std::string& root) {
  struct stat facts{};
  if (::lstat(root.c_str(), &facts) != 0) return complain_of(root, errno);
  if (S_ISREG(facts.st_mode))
    return hears_.on_file({std::make_shared<const open_directory>(AT_FDCWD, ""), root});
  if (!S_ISDIR(facts.st_mode)) return;
  const int fd = ::open(root.c_str(), folder_open_flags);
  if (fd < 0) return complain_of(root, errno);
  path_ = root.ends_with('/') ? root : root + '/';
  enter(fd, 0);
  while (!stack_.empty()) visit_next();
  last_.reset();
}

/// Reads the directory whose name is in `path_`, and keeps it when there are directories below it to visit.
void tree_walk::enter(int fd, std::size_t depth) {
  last_ = std::make_shared<const open_directory>(fd, path_);
  last_depth_ = depth;
  frame here{last_, depth, path_.size(), {}};
  read_entries(here);
  if (here.pending.empty()) return;
  stack_.push_back(std::move(here));
  if (stack_.size() - given_back_ > held_most_) give_back_shallowest();
}

void tree_walk::read_entries(frame& into) {
  const int fd = into.directory->fd();
  for (;;) {
    const ssize_t got = ::getdents64(fd, entries_.data(), entries_.size());
    if (got < 0) complain_of(path_, errno);
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries_.data() + at);
      take_entry(into, entry->d_name, entry->d_type);
      at += entry->d_reclen;
    }
  }
}

void tree_walk::take_entry(frame& into, const char* name, unsigned char type) {
  if (is_dots(name)) return;
  if (type == DT_UNKNOWN) type = type_of(into.directory->fd(), name);
  if (type == DT_UNKNOWN) return complain_of(path_ + name, errno);
  if (type == DT_REG) hears_.on_file({into.directory, name});
  if (type == DT_DIR) into.pending.append(name, std::strlen(name) + 1);
}

/// Visits one directory below the innermost frame. It leaves a frame before it enters the last directory of
/// that frame, so it walks a chain of any length with one descriptor.
void tree_walk::visit_next() {
  frame& top = stack_.back();
  path_.resize(top.path_length);
  if (!top.directory && !reopen(top)) {
    stack_.pop_back();
    given_back_ = stack_.size();
    return;
  }
  const std::string name = pop_name(top.pending);
  const int fd = ::openat(top.directory->fd(), name.c_str(), folder_open_flags);
  const int error = errno;
  const std::size_t depth = top.depth + 1;
  if (top.pending.empty()) {
    stack_.pop_back();
    given_back_ = std::min(given_back_, stack_.size());
  }
  if (fd < 0) return complain_of(path_ + name, error);
  path_ += name;
  path_ += '/';
  enter(fd, depth);
}

void tree_walk::give_back_shallowest() {
  frame& shallowest = stack_[given_back_];
  struct stat facts{};
  if (::fstat(shallowest.directory->fd(), &facts) != 0) return;
  shallowest.device = facts.st_dev;
  shallowest.inode = facts.st_ino;
  shallowest.directory.reset();
  ++given_back_;
}

/// Opens a directory again that was given back, from the one below it that was opened last.
bool tree_walk::reopen(frame& f) {
  const int fd = open_above(last_->fd(), last_depth_ - f.depth);
  if (fd < 0) return complain_of(path_, errno), false;
  auto again = std::make_shared<const open_directory>(fd, path_);
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return complain_of(path_, errno), false;
  if (facts.st_dev != f.device || facts.st_ino != f.inode) {
    hears_.on_trouble({path_, "was moved while it was being read"});
    return false;
  }
  f.directory = std::move(again);
  last_ = f.directory;
  last_depth_ = f.depth;
  given_back_ = stack_.size() - 1;
  return true;
}

void tree_walk::complain_of(std::string path, int error) {
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  hears_.on_trouble({std::move(path), reason_of(error)});
}

} // namespace corewise::command
