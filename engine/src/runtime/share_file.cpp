#include "runtime/share_file.hpp"

#include "base/per_process.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/topology/error.hpp>

#include <boost/crc.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The file has `most_sharers` entries of `entry_bytes`. An entry begins with a text, as
//
//     corewise share 1
//     weight 100
//     cpus 0-31
//     name mydaemon
//     sum 1c291ca3
//
// and zeros follow. To take an entry, its second byte is locked; then the text is written; then its first byte is locked,
// which says that the text holds. So no reader takes the text of an earlier holder for that of the new one.

namespace corewise::detail {

namespace {

constexpr off_t entry_bytes = 4096;
constexpr std::uint32_t most_weight = 10'000;
constexpr std::string_view first_words = "corewise share ";
constexpr off_t holds_byte = 0; // of an entry: these are locked
constexpr off_t taken_byte = 1;

using entry_text = std::array<char, entry_bytes>;

struct file_closer {
  int fd;
  ~file_closer() { ::close(fd); }
};

[[noreturn]] void refuse(const std::filesystem::path& file, std::string_view why) {
  throw topology_error(fmt::format("sharing.file {}: {}", file.string(), why));
}
[[noreturn]] void refuse(const std::filesystem::path& file, const char* what, int error) {
  refuse(file, fmt::format("{}: {}", what, std::strerror(error)));
}

struct flock lock_of(short type, std::uint32_t entry, off_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(entry) * entry_bytes + byte;
  lock.l_len = 1;
  return lock;
}

bool set_lock(int fd, short type, std::uint32_t entry, off_t byte) noexcept {
  struct flock lock = lock_of(type, entry, byte);
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

std::string sum_of(std::string_view text) {
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return fmt::format("{:08x}", sum.checksum());
}

std::string printable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return name;
}

std::string text_of(const sharer& s) {
  std::string text = fmt::format("corewise share 1\nweight {}\ncpus {}\nname {}\n", s.weight,
                                 s.cpus.to_string(), printable(s.name));
  return text + fmt::format("sum {}\n", sum_of(text));
}

/// Takes the next line off `text`, if it begins so. Returns the rest of the line.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view begin) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(begin)) return std::nullopt;
  const std::string_view rest = text.substr(begin.size(), end - begin.size());
  text.remove_prefix(end + 1);
  return rest;
}

/// Returns what an entry says, if it is whole and makes sense.
std::optional<sharer> read(std::string_view entry) {
  std::string_view text = entry.substr(0, entry.find('\0'));
  const auto sum_at = text.rfind("sum ");
  if (sum_at == std::string_view::npos ||
      text.substr(sum_at) != fmt::format("sum {}\n", sum_of(text.substr(0, sum_at))))
    return std::nullopt;
  if (take_line(text, "corewise share 1") != "") return std::nullopt;
  const auto weight = take_line(text, "weight ");
  const auto cpus = take_line(text, "cpus ");
  const auto name = take_line(text, "name ");
  if (!weight || !cpus || !name || cpus->find(':') != cpus->npos)
    return std::nullopt; // no sharer writes a stride
  sharer s;
  s.name = *name;
  const auto [end, why] = std::from_chars(weight->data(), weight->data() + weight->size(), s.weight);
  const std::optional<cpu_set> set = cpu_set::parse(*cpus);
  if (why != std::errc() || end != weight->data() + weight->size() || s.weight == 0 ||
      s.weight > most_weight || !set)
    return std::nullopt;
  s.cpus = *set;
  return s;
}

} // namespace

/// The file, opened once for all of the process that share by it, and never closed: that would give up the locks.
class share_file::opened {
 public:
  /// Returns the file of that path: that which is open already, if there is one.
  static opened& at(const std::filesystem::path& file) {
    registry& all = of_process_.get();
    const std::scoped_lock lock(all.mutex);
    struct stat there{};
    if (::stat(file.c_str(), &there) == 0)
      if (opened* const known = all.find(there)) return *known;
    auto made = std::make_unique<opened>(file);
    if (opened* const known = all.find(made->is_)) { // the path has become that of another one meanwhile
      all.surplus.push_back(std::move(made));
      return *known;
    }
    return *all.files.emplace_back(std::move(made));
  }

  explicit opened(const std::filesystem::path& file)
      : path_(file),
        fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                   S_IRUSR | S_IWUSR)) {
    if (fd_ < 0) refuse(file, "cannot be opened", errno);
    if (::fstat(fd_, &is_) != 0) fail("cannot be examined", errno);
    if (!S_ISREG(is_.st_mode)) fail("is no plain file");
    if ((is_.st_mode & ALLPERMS) != 0600 && (is_.st_mode & ALLPERMS) != 0660)
      fail(fmt::format("has mode {:04o}; 0600 or 0660 is right, so that no stranger takes a share",
                       is_.st_mode & ALLPERMS));
    if (!may_write_any()) fail("holds something else, which is left as it is");
  }
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  ~opened() = default;

  /// Returns whether the path still leads to this file.
  bool is_at_its_path() const noexcept {
    struct stat there{};
    return ::stat(path_.c_str(), &there) == 0 && is(there);
  }
  /// Takes a free entry.
  std::uint32_t take() {
    const std::scoped_lock lock(mutex_);
    for (std::uint32_t entry = 0; entry < most_sharers; ++entry) {
      if (own_[entry] != own::no) continue;
      if (!set_lock(fd_, F_WRLCK, entry, taken_byte)) {
        if (errno != EACCES && errno != EAGAIN) refuse(path_, "an entry cannot be locked", errno);
        continue; // another process has it
      }
      if (may_write(entry)) {
        own_[entry] = own::taken;
        return entry;
      }
      set_lock(fd_, F_UNLCK, entry, taken_byte); // damaged
    }
    refuse(path_,
           fmt::format("{} share by it already, which is the most, or entries are damaged", most_sharers));
  }
  /// Says that what is written in the entry holds.
  void confirm(std::uint32_t entry) {
    const std::scoped_lock lock(mutex_);
    if (!set_lock(fd_, F_WRLCK, entry, holds_byte)) refuse(path_, "an entry cannot be locked", errno);
    own_[entry] = own::holds;
  }
  void give_up(std::uint32_t entry) noexcept {
    const std::scoped_lock lock(mutex_);
    set_lock(fd_, F_UNLCK, entry, holds_byte);
    set_lock(fd_, F_UNLCK, entry, taken_byte);
    own_[entry] = own::no;
  }
  void write(std::uint32_t entry, const std::string& text) {
    entry_text whole{};
    if (text.size() >= whole.size())
      refuse(path_,
             fmt::format(
                 "the list of this daemon's CPUs is too long: with its name it takes {} bytes, and {} is the "
                 "most; give it whole cores that follow each other, as a range",
                 text.size(), whole.size() - 1));
    std::ranges::copy(text, whole.begin());
    const ssize_t n = ::pwrite(fd_, whole.data(), whole.size(), static_cast<off_t>(entry) * entry_bytes);
    if (n != entry_bytes) refuse(path_, "cannot be written", n < 0 ? errno : ENOSPC);
  }
  std::string read(std::uint32_t entry) const {
    entry_text whole{};
    const ssize_t n = ::pread(fd_, whole.data(), whole.size(), static_cast<off_t>(entry) * entry_bytes);
    if (n < 0) refuse(path_, "cannot be read", errno);
    return {whole.data(), static_cast<std::size_t>(n)};
  }
  /// Returns whether the entry has that text. Any program that may write the file may have changed it.
  bool says(std::uint32_t entry, std::string_view text) const {
    const std::string whole = read(entry);
    return std::string_view(whole).substr(0, whole.find('\0')) == text;
  }
  /// Returns whether the text of the entry holds. The system does not tell a process of its own locks.
  bool holds_now(std::uint32_t entry) const {
    {
      const std::scoped_lock lock(mutex_);
      if (own_[entry] != own::no) return own_[entry] == own::holds;
    }
    struct flock lock = lock_of(F_WRLCK, entry, holds_byte);
    if (::fcntl(fd_, F_GETLK, &lock) != 0) refuse(path_, "its locks cannot be read", errno);
    return lock.l_type != F_UNLCK;
  }

 private:
  /// Whether an entry is one of this process.
  enum class own : std::uint8_t { no, taken, holds };
  struct registry {
    opened* find(const struct stat& wanted) const noexcept {
      const auto found = std::ranges::find_if(files, [&](const auto& f) { return f->is(wanted); });
      return found == files.end() ? nullptr : found->get();
    }
    detail::mutex mutex;
    std::vector<std::unique_ptr<opened>> files;   // guarded
    std::vector<std::unique_ptr<opened>> surplus; // guarded; descriptors of the same files
  };

  /// The child of a process fork begins without files: it has no locks.
  static inline constinit per_process<registry> of_process_;

  /// Returns whether an entry is empty, or one of such a file.
  bool may_write(std::uint32_t entry) const {
    const std::string text = read(entry);
    return text.empty() || text.front() == '\0' || text.starts_with(first_words);
  }
  /// Returns whether it is empty, or any entry is one of such a file: another one may be damaged.
  bool may_write_any() const {
    if (may_write(0)) return true;
    for (std::uint32_t entry = 1; entry < most_sharers; ++entry)
      if (read(entry).starts_with(first_words)) return true;
    return false;
  }
  bool is(const struct stat& other) const noexcept {
    return is_.st_dev == other.st_dev && is_.st_ino == other.st_ino;
  }
  template <class... Args> [[noreturn]] void fail(const Args&... why) const {
    const file_closer closes{fd_}; // the constructor does not return, so there is no destructor
    refuse(path_, why...);
  }

  const std::filesystem::path path_;
  const int fd_;
  struct stat is_{};
  mutable detail::mutex mutex_;
  std::array<own, most_sharers> own_{}; // guarded
};

share_file::share_file(const std::filesystem::path& file, const sharer& self)
    : file_(&opened::at(file)),
      entry_(file_->take()) {
  try {
    write(self);
    file_->confirm(entry_);
  } catch (...) {
    file_->give_up(entry_);
    throw;
  }
}

share_file::~share_file() { file_->give_up(entry_); }

void share_file::write(const sharer& self) { file_->write(entry_, text_of(self)); }

share_file::view share_file::look(const sharer& self) {
  if (!file_->says(entry_, text_of(self))) write(self);
  view seen;
  seen.replaced = !file_->is_at_its_path();
  for (std::uint32_t entry = 0; entry < most_sharers; ++entry) {
    if (entry == entry_) {
      seen.own = seen.all.size();
      seen.all.push_back(self);
      continue;
    }
    if (!file_->holds_now(entry)) continue;
    if (std::optional<sharer> other = read(file_->read(entry)))
      seen.all.push_back(*std::move(other));
    else
      ++seen.unreadable;
  }
  return seen;
}

} // namespace corewise::detail
