#include <corewise/io/stream.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace corewise::io::detail {

namespace {

/// Calls `f()` until no signal interrupts it.
template <class F> ssize_t uninterrupted(const F& f) noexcept {
  ssize_t bytes = 0;
  do {
    bytes = f();
  } while (bytes < 0 && errno == EINTR);
  return bytes;
}

/// Notes what a call has returned. Returns whether the operation has ended.
bool ended(ssize_t bytes, transfer& done) noexcept {
  if (bytes >= 0)
    done.bytes = static_cast<std::size_t>(bytes);
  else if (errno == EAGAIN || errno == EWOULDBLOCK)
    return false;
  else
    done.why = {errno, asio::error::get_system_category()};
  return true;
}

/// An `io_vector` has no empty parts.
bool has_room(const msghdr& m) noexcept { return m.msg_iovlen != 0; }

} // namespace

int open_socket(int family, int type, int protocol) noexcept {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

void close_socket(int fd) noexcept { ::close(fd); }

void limit_unsent(int fd) noexcept {
  const int bytes = 64 * 1024;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes); // not for unix sockets
}

void wait_limits::begin(wait_kind kind, operation& of) noexcept {
  one& limit = kind == wait_kind::read ? read : write;
  if (limit.time.count() > 0) of.limit_wait(limit.spare, limit.time);
}

void wait_limits::end(operation& of, error_code& why) noexcept {
  of.end_limit();
  if (why == asio::error::operation_aborted && of.expired()) why = asio::error::timed_out;
}

bool try_receive(int fd, msghdr& into, transfer& done) noexcept {
  if (!has_room(into)) return true; // as Asio: it ends at once
  const ssize_t bytes = uninterrupted([&] { return ::recvmsg(fd, &into, MSG_DONTWAIT); });
  if (bytes == 0) done.why = asio::error::eof;
  return ended(bytes, done);
}

bool try_send(int fd, msghdr& from, transfer& done) noexcept {
  if (!has_room(from)) return true;
  return ended(uninterrupted([&] { return ::sendmsg(fd, &from, MSG_DONTWAIT | MSG_NOSIGNAL); }), done);
}

} // namespace corewise::io::detail
