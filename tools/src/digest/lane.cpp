#include "lane.hpp"

#include <corewise/engine/when_all.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace corewise::command {

namespace {

constexpr std::size_t lines_enough = std::size_t{64} * 1024; // bytes of them
constexpr std::size_t troubles_enough = 256;

// O_NONBLOCK: a file may have become a pipe since its directory was read, and opening a pipe waits for a
// writer.
constexpr int open_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

void add_to(std::atomic<std::uint64_t>& single_writer, std::uint64_t n) noexcept {
  single_writer.store(single_writer.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

bool is_regular(int fd) noexcept {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

} // namespace

lane::lane(engine& e, file_queue& files, std::function<void(lane&)> come_home)
    : engine_(&e),
      files_(&files),
      come_home_(std::move(come_home)) {}

lane::~lane() {
  if (fd_ >= 0) ::close(fd_);
}

void lane::start() noexcept {
  try {
    if (engine_->submit(go()) == submit_result::accepted) return;
    throw std::runtime_error("the engine refused a task");
  } catch (...) {
    failure_ = std::current_exception();
    come_home_(*this);
  }
}

task<void> lane::go() {
  try {
    co_await filled();
    while (!chunks_[filling_].parts.empty() && !stopping_.load(std::memory_order_relaxed)) {
      filling_ ^= 1;
      if (has_enough()) {
        co_await hashed();
        break;
      }
      co_await when_all(filled(), hashed());
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  come_home_(*this); // this lane may be gone now
}

task<void> lane::filled() {
  blocking([this] { fill(chunks_[filling_]); });
  co_return;
}

task<void> lane::hashed() {
  hash(chunks_[filling_ ^ 1]);
  co_return;
}

bool lane::has_enough() const noexcept {
  return lines.size() >= lines_enough || troubles.size() >= troubles_enough;
}

void lane::fill(chunk& c) {
  while (!c.full() && (fd_ >= 0 || open_next(c))) read_some(c);
  if (fd_ >= 0 && c.used > part_begin_)
    c.parts.push_back({file_part::fate::goes_on, part_begin_, c.used - part_begin_, {}, 0});
  part_begin_ = 0;
}

/// Opens the next file that can be opened. Returns false when there is none, or no room to report an error.
bool lane::open_next(chunk& c) {
  while (!c.full()) {
    auto next = files_->pop();
    if (!next) return false;
    reading_ = std::move(*next);
    part_begin_ = c.used;
    looked_at_ = false;
    fd_ = ::openat(reading_.where->fd(), reading_.name.c_str(), open_flags);
    if (fd_ >= 0) return true;
    end_file(c, 0, errno);
  }
  return false;
}

/// Reads a piece of the open file. A file ends where a read says so, not at the size it had: files in /proc
/// say 0, and others grow.
void lane::read_some(chunk& c) {
  const ssize_t got = ::read(fd_, c.bytes.get() + c.used, chunk::capacity - c.used);
  if (got < 0) {
    if (errno != EINTR) end_file(c, c.used - part_begin_, errno);
    return;
  }
  c.used += static_cast<std::size_t>(got);
  const bool suspicious = c.used == part_begin_ || c.used == chunk::capacity; // empty, or without end
  if (suspicious && !std::exchange(looked_at_, true) && !is_regular(fd_)) {
    c.used = part_begin_;
    return end_file(c, 0, ENOENT);
  }
  if (got == 0) end_file(c, c.used - part_begin_, 0);
}

void lane::end_file(chunk& c, std::size_t length, int error) {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  c.path_bytes += reading_.where->path().size() + reading_.name.size();
  c.parts.push_back({error == 0 ? file_part::fate::ends : file_part::fate::failed, part_begin_, length,
                     std::move(reading_), error});
  part_begin_ = c.used;
}

void lane::hash(chunk& c) {
  for (file_part& part : c.parts) hash_part(c, part);
  c.clear();
}

void lane::hash_part(const chunk& c, file_part& part) {
  checksum_.add({c.bytes.get() + part.begin, part.length});
  add_to(bytes_hashed_, part.length);
  if (part.is == file_part::fate::goes_on) return;
  const std::string digest = checksum_.finish();
  if (part.is == file_part::fate::failed) {
    troubles.push_back({part.file.path(), reason_of(part.error)});
    return;
  }
  append_line(lines, digest, part.file.path());
  add_to(files_hashed_, 1);
}

} // namespace corewise::command
