#pragma once

#include <corewise/io/service.hpp>
#include <corewise/io/stream.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <vector>

namespace corewise::io {

/// Connects to the first of the endpoints that answers, in their order, on an executor of the caller's group. Throws
/// the last `system_error`; `asio::error::host_not_found` where there is no endpoint. `within`: for each of them. A stop
/// ends it with `asio::error::operation_aborted`: no further endpoint is tried.
task<tcp_stream> connect(service& io, std::vector<asio::ip::tcp::endpoint> peers, any_duration within,
                         std::stop_token stop = {});

/// Connections to one peer that wait for their next use. Each locality group has its own, so that a connection is used
/// where its events come. Call from any thread. It may not outlive the service's engine.
class connection_pool {
 public:
  /// Keeps at most `most_idle` connections for each group.
  connection_pool(service& io, asio::ip::tcp::endpoint peer, std::size_t most_idle = 8);
  connection_pool(const connection_pool&) = delete;
  connection_pool& operator=(const connection_pool&) = delete;
  ~connection_pool();

  /// Returns the connection of the caller's group that was used last and that the peer has not closed, or a new one,
  /// for which it waits as `connect` does. Throws `system_error`.
  task<tcp_stream> take(any_duration within, std::stop_token stop = {});
  /// Keeps a connection on which nothing is under way, unless enough are kept. Do not give back one after an error.
  void give_back(tcp_stream connection);
  /// Returns how many connections wait, of all groups.
  std::size_t idle() const;

 private:
  struct shelf;

  service& io_;
  const asio::ip::tcp::endpoint peer_;
  const std::size_t most_idle_;
  std::vector<std::unique_ptr<shelf>> shelves_; // by group
};

} // namespace corewise::io
