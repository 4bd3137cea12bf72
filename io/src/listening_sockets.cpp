#include "listening_sockets.hpp"

#include <corewise/io/detail/steering.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

namespace corewise::io::detail {

namespace {

using socket_lists = std::vector<std::vector<descriptor>>;

void check(bool works, const char* what) {
  if (!works) throw system_error({errno, asio::error::get_system_category()}, what);
}

/// Opens a socket at that address. `shared`: others listen on the same endpoint.
descriptor open_bound(const sockaddr* address, std::size_t size, bool shared) {
  descriptor fd(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  check(fd.get() >= 0, "socket");
  const int on = 1;
  if (address->sa_family != AF_UNIX) {
    check(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "SO_REUSEADDR");
    if (shared) check(::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0, "SO_REUSEPORT");
  }
  check(::bind(fd.get(), address, static_cast<socklen_t>(size)) == 0, "bind");
  return fd;
}

descriptor open_listening(const sockaddr* address, std::size_t size, int backlog, bool shared) {
  descriptor fd = open_bound(address, size, shared);
  check(::listen(fd.get(), backlog) == 0, "listen");
  return fd;
}

/// Puts a port into an address of IP.
void set_port(sockaddr_storage& address, std::uint16_t port) noexcept {
  if (address.ss_family == AF_INET) reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  if (address.ss_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
}

/// Prepares a socket that another program has made: it may block, and may be anything.
void prepare(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  check(::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, "an adopted descriptor");
  if (listens == 0) throw system_error(asio::error::invalid_argument, "an adopted socket does not listen");
  const int flags = ::fcntl(fd, F_GETFL);
  check(flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0, "O_NONBLOCK");
  check(::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "FD_CLOEXEC");
}

std::vector<cpu_range> ranges_of(const std::vector<wanted_sockets>& wanted) {
  std::vector<cpu_range> cpus;
  std::uint32_t socket = 0;
  for (const wanted_sockets& of_one : wanted)
    for (const cpu_set& set : of_one) {
      for (const std::uint32_t cpu : set.to_vector()) cpus.push_back({cpu, cpu, socket});
      ++socket;
    }
  std::ranges::stable_sort(cpus, {}, &cpu_range::first);
  std::vector<cpu_range> ranges;
  for (const cpu_range& r : cpus)
    if (!ranges.empty() && ranges.back().socket == r.socket && ranges.back().last + 1 == r.first)
      ranges.back().last = r.last;
    else if (ranges.empty() ||
             ranges.back().last < r.first) // of listeners with the same CPUs the first one takes them
      ranges.push_back(r);
  return ranges;
}

/// Returns an errno, or 0.
int steer(int first, const std::vector<wanted_sockets>& wanted) {
  const std::vector<cpu_range> ranges = ranges_of(wanted);
  if (ranges.empty()) return 0;
  std::vector<sock_filter> program = steering_program(ranges);
  if (program.empty()) return E2BIG;
  const sock_fprog chosen{static_cast<std::uint16_t>(program.size()), program.data()};
  return ::setsockopt(first, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &chosen, sizeof chosen) != 0 ? errno : 0;
}

listening_sockets open_each(const sockaddr* address, std::size_t size, int backlog,
                            const std::vector<wanted_sockets>& wanted) {
  const bool shared = wanted.size() > 1 || wanted.front().size() > 1;
  // Others that listen there would go unnoticed with SO_REUSEPORT, and share the connections.
  if (shared) open_bound(address, size, /*shared=*/false);
  sockaddr_storage same{};
  std::copy_n(reinterpret_cast<const std::byte*>(address), size, reinterpret_cast<std::byte*>(&same));
  listening_sockets sockets;
  for (const wanted_sockets& of_one : wanted) {
    std::vector<descriptor>& own = sockets.of.emplace_back();
    while (own.size() < of_one.size()) {
      own.push_back(open_listening(reinterpret_cast<const sockaddr*>(&same), size, backlog, shared));
      set_port(same, port_of(sockets.of.front().front().get()));
    }
  }
  if (shared) sockets.not_steered = steer(sockets.of.front().front().get(), wanted);
  return sockets;
}

socket_lists open_one(const sockaddr* address, std::size_t size, int backlog, std::size_t listeners) {
  socket_lists sockets(listeners);
  sockets.front().push_back(open_listening(address, size, backlog, false));
  for (std::size_t i = 1; i < listeners; ++i) {
    sockets[i].emplace_back(::fcntl(sockets.front().front().get(), F_DUPFD_CLOEXEC, 0));
    check(sockets[i].front().get() >= 0, "F_DUPFD_CLOEXEC");
  }
  return sockets;
}

socket_lists adopt_all(const std::vector<int>& given, std::size_t listeners) {
  std::vector<descriptor> taken;
  taken.reserve(given.size());
  for (const int fd : given) taken.emplace_back(fd);
  for (const int fd : given) prepare(fd);
  if (taken.size() < listeners)
    throw system_error(asio::error::invalid_argument, "fewer adopted sockets than engines");
  socket_lists sockets(listeners);
  for (std::size_t i = 0; i < taken.size(); ++i) sockets[i % listeners].push_back(std::move(taken[i]));
  return sockets;
}

} // namespace

std::int64_t most_waiting(const listen_options& options) {
  const bool as_many_as_allowed = options.backlog < 0 || !options.adopted.empty();
  std::int64_t allowed = 0;
  if (std::ifstream("/proc/sys/net/core/somaxconn") >> allowed)
    return as_many_as_allowed ? allowed : std::min<std::int64_t>(options.backlog, allowed);
  return as_many_as_allowed ? 4096 : options.backlog; // Linux's own limit, where no one has changed it
}

/// Returns whether accept failed because of the connection that it took from the queue (accept(2)), or was interrupted.
bool is_of_connection(int error) noexcept {
  switch (error) {
  case EINTR:
  case ECONNABORTED:
  case ENETDOWN:
  case EPROTO:
  case ENOPROTOOPT:
  case EHOSTDOWN:
  case ENONET:
  case EHOSTUNREACH:
  case EOPNOTSUPP:
  case ENETUNREACH: return true;
  default: return false;
  }
}

std::uint16_t port_of(int fd) noexcept {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  if (at.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port);
  if (at.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(at).sin6_port);
  return 0;
}

listening_sockets open_sockets(const sockaddr* address, std::size_t size, const listen_options& options,
                               const std::vector<wanted_sockets>& wanted) {
  if (!options.adopted.empty()) return {adopt_all(options.adopted, wanted.size())};
  if (address->sa_family == AF_UNIX) return {open_one(address, size, options.backlog, wanted.size())};
  return open_each(address, size, options.backlog, wanted);
}

} // namespace corewise::io::detail
