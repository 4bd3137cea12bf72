#include "sockets.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace corewise::admin {

namespace asio = boost::asio;
using asio::ip::tcp;
using local = asio::local::stream_protocol;

namespace {

constexpr int backlog = 64;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::system_category(), what);
}

/// Reads "127.0.0.1:9464" or "[::]:9464".
tcp::endpoint endpoint_of(const std::string& text) {
  const auto colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code why;
  const auto address = asio::ip::make_address(host, why);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const char* const digits = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto read = std::from_chars(digits, end, port);
  if (why || address.is_v6() != bracketed || read.ec != std::errc() || read.ptr != end)
    throw std::invalid_argument("\"" + text + "\" is no address with a port, as \"127.0.0.1:9464\" is");
  return {address, port};
}

template <class Endpoint> bool bind(int fd, const Endpoint& at) {
  return ::bind(fd, at.data(), static_cast<socklen_t>(at.size())) == 0;
}

/// Returns whether an earlier process has left a socket there: it refuses, as a file would.
bool is_stale(const local::endpoint& at) {
  struct stat there{};
  if (::lstat(at.path().c_str(), &there) != 0 || !S_ISSOCK(there.st_mode)) return false;
  const int probe = new_socket(AF_UNIX);
  const bool refused =
      ::connect(probe, at.data(), static_cast<socklen_t>(at.size())) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return refused;
}

/// Keeps other processes from replacing a socket in that folder meanwhile. Of two that find a stale one, the second would
/// remove what the first has just made. Where the folder cannot be read, or is locked for long, it does nothing.
class folder_lock {
 public:
  explicit folder_lock(const std::filesystem::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    for (int tries = 0; fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && tries < 100; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  int fd_;
};

} // namespace

int new_socket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) fail("socket");
  return fd;
}

tcp::acceptor listen_at(asio::io_context& in, const std::string& text) {
  const tcp::endpoint at = endpoint_of(text);
  auto made = adopted<tcp::acceptor>(in, at.protocol(), new_socket(at.protocol().family()));
  const int fd = made.native_handle();
  const int yes = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 || !bind(fd, at) ||
      ::listen(fd, backlog) != 0)
    fail(text);
  return made;
}

socket_path::socket_path(int fd, const std::string& path) : path_(std::filesystem::absolute(path)) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    throw std::system_error(ENAMETOOLONG, std::system_category(), path);
  const local::endpoint at(path);
  const folder_lock alone(path_.parent_path());
  if (::fchmod(fd, 0600) != 0) fail("fchmod");
  if (!bind(fd, at)) {
    if (errno != EADDRINUSE) fail(path);
    const bool replaced = is_stale(at) && ::unlink(path.c_str()) == 0 && bind(fd, at);
    errno = EADDRINUSE;
    if (!replaced) fail(path);
  }
  struct stat made{};
  if (::lstat(path.c_str(), &made) == 0) device_ = made.st_dev, number_ = made.st_ino;
  if (::listen(fd, backlog) == 0) return;
  const int why = errno;
  ::unlink(path.c_str());
  errno = why;
  fail(path);
}

socket_path::~socket_path() {
  struct stat there{};
  if (::lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == number_)
    ::unlink(path_.c_str());
}

bool is_own(int fd, uid_t& user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  user = peer.uid;
  return user == ::geteuid() || user == 0;
}

} // namespace corewise::admin
