#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <string>

// The sockets at which the admin server listens. All are closed on exec, and do not block.

namespace corewise::admin {

/// Returns a socket or an acceptor that has taken the descriptor over. Where there can be none, closes it and throws.
template <class Object>
Object adopted(boost::asio::io_context& in, const typename Object::protocol_type& protocol, int fd) {
  try {
    return Object(in, protocol, fd);
  } catch (...) {
    ::close(fd);
    throw;
  }
}

/// Returns a socket that is not bound. Throws `std::system_error`.
int new_socket(int family);

/// Listens at "127.0.0.1:9464" or "[::]:9464". Throws `std::invalid_argument` for what is no address,
/// `std::system_error`.
boost::asio::ip::tcp::acceptor listen_at(boost::asio::io_context& in, const std::string& text);

/// The control socket's name in the file system, which goes with it, unless it is another socket's by then.
class socket_path {
 public:
  /// Gives the socket its name, for this process's user alone, and listens. Replaces a socket that an earlier
  /// process has left, but no socket that answers, and no file. Throws `std::system_error`.
  socket_path(int fd, const std::string& path);
  socket_path(const socket_path&) = delete;
  socket_path& operator=(const socket_path&) = delete;
  ~socket_path();

 private:
  const std::filesystem::path path_; // whole: the process may change its folder
  dev_t device_ = 0;                 // of the name that was made
  ino_t number_ = 0;
};

/// Returns whether the peer is of this process's user or root; its user in `user`.
bool is_own(int fd, uid_t& user);

} // namespace corewise::admin
