#include <corewise/engine/detail/lock.hpp>
#include <corewise/io/connect.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

namespace corewise::io {

task<tcp_stream> connect(service& io, std::vector<asio::ip::tcp::endpoint> peers, any_duration within,
                         std::stop_token stop) {
  error_code why = asio::error::host_not_found;
  for (const asio::ip::tcp::endpoint& peer : peers) {
    tcp_stream connection(io.local());
    // After a stop this begins nothing, so the endpoints that are left fail at once.
    co_await connection.async_connect(peer, use_task(stop).within(within).into(why));
    if (why) continue;
    why =
        connection.set_option(asio::ip::tcp::no_delay(true), why); // without it the connection is only slower
    co_return connection;
  }
  throw system_error(why, "connect");
}

struct connection_pool::shelf {
  mutable corewise::detail::mutex mutex;
  std::vector<tcp_stream> idle; // guarded; the one used last at the end
};

namespace {

/// Returns whether the peer has neither closed the connection nor sent what was not asked for.
bool is_quiet(tcp_stream& connection) noexcept {
  char byte = 0;
  return ::recv(connection.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

} // namespace

connection_pool::connection_pool(service& io, asio::ip::tcp::endpoint peer, std::size_t most_idle)
    : io_(io),
      peer_(std::move(peer)),
      most_idle_(most_idle) {
  for (std::size_t g = 0; g < io.on().groups().size(); ++g) shelves_.push_back(std::make_unique<shelf>());
}

connection_pool::~connection_pool() = default;

task<tcp_stream> connection_pool::take(any_duration within, std::stop_token stop) {
  shelf& own = *shelves_[io_.local().group().value];
  for (;;) {
    std::optional<tcp_stream> kept;
    {
      const std::scoped_lock lock(own.mutex);
      if (own.idle.empty()) break;
      kept.emplace(std::move(own.idle.back()));
      own.idle.pop_back();
    }
    if (is_quiet(*kept)) co_return std::move(*kept);
  }
  std::vector<asio::ip::tcp::endpoint> only(1, peer_);
  co_return co_await connect(io_, std::move(only), within, std::move(stop));
}

void connection_pool::give_back(tcp_stream connection) {
  if (!connection.is_open()) return;
  shelf& own = *shelves_[connection.get_executor().group().value];
  const std::scoped_lock lock(own.mutex);
  if (own.idle.size() < most_idle_) own.idle.push_back(std::move(connection));
}

std::size_t connection_pool::idle() const {
  std::size_t all = 0;
  for (const auto& s : shelves_) {
    const std::scoped_lock lock(s->mutex);
    all += s->idle.size();
  }
  return all;
}

} // namespace corewise::io
