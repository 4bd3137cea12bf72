#include <corewise/io/stream.hpp>

#include <sys/socket.h>

#include <cerrno>

namespace corewise::io::detail {

namespace {

error_code why_not() noexcept {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return asio::error::would_block;
  return {errno, asio::error::get_system_category()};
}

/// Calls `f()` until no signal interrupts it.
template <class F> ssize_t uninterrupted(const F& f) noexcept {
  ssize_t bytes = 0;
  do {
    bytes = f();
  } while (bytes < 0 && errno == EINTR);
  return bytes;
}

bool has_room(const msghdr& m) noexcept {
  for (std::size_t i = 0; i < m.msg_iovlen; ++i)
    if (m.msg_iov[i].iov_len != 0) return true;
  return false;
}

} // namespace

int open_socket(int family, int type, int protocol) noexcept {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

std::size_t try_receive(int fd, msghdr& into, error_code& why) noexcept {
  if (!has_room(into)) return 0; // as Asio: it ends at once
  const ssize_t bytes = uninterrupted([&] { return ::recvmsg(fd, &into, MSG_DONTWAIT); });
  if (bytes < 0) why = why_not();
  if (bytes == 0) why = asio::error::eof;
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::size_t try_send(int fd, msghdr& from, error_code& why) noexcept {
  if (!has_room(from)) return 0;
  const ssize_t bytes = uninterrupted([&] { return ::sendmsg(fd, &from, MSG_DONTWAIT | MSG_NOSIGNAL); });
  if (bytes < 0) why = why_not();
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

} // namespace corewise::io::detail
