#include "answers.hpp"
#include "conversations.hpp"
#include "network.hpp"
#include "open_connections.hpp"
#include "sockets.hpp"

#include <corewise/admin/server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace corewise::admin {

namespace asio = boost::asio;
using asio::ip::tcp;
using local = asio::local::stream_protocol;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_connections = open_connections::most;
constexpr std::size_t kept_for_control = 4; // of these
constexpr std::size_t most_of_one_address = 16;
constexpr std::size_t most_of_strangers = 8; // of all addresses that are in none of the networks
constexpr auto pause_without_descriptors = 100ms;
constexpr auto pause_after_exception = 10ms;

constexpr auto in_tuple = asio::as_tuple(asio::use_awaitable);

void check(const options& o) {
  if (!o.token.empty() && o.read_only.empty())
    throw std::invalid_argument("a token without a read-only address, where it would be shown");
  if (o.token_for_all && o.token.empty()) throw std::invalid_argument("a token for all, but no token");
  if (o.changes_by_tcp && o.token.empty()) throw std::invalid_argument("changes by TCP without a token");
}

} // namespace

class server::plane {
 public:
  plane(served engines, const options& o)
      : answers_(std::move(engines), o),
        conversations_(context_, answers_, open_, o) {
    check(o);
    for (const std::string& text : o.networks) networks_.emplace_back(text);
    if (!o.read_only.empty()) {
      read_only_.emplace(listen_at(context_, o.read_only));
      port_ = read_only_->local_endpoint().port();
      asio::co_spawn(context_,
                     accept_by_tcp(*read_only_, &conversations::with_reader,
                                   o.token.empty() ? nullptr : &conversations::with_stranger),
                     &end_of_coroutine);
    }
    if (!o.agent.empty()) {
      agent_.emplace(listen_at(context_, o.agent));
      agent_port_ = agent_->local_endpoint().port();
      asio::co_spawn(context_, accept_by_tcp(*agent_, &conversations::with_balancer, nullptr),
                     &end_of_coroutine);
    }
    if (!o.control.empty()) {
      control_.emplace(adopted<local::acceptor>(context_, local(), new_socket(AF_UNIX)));
      control_path_.emplace(control_->native_handle(), o.control);
      asio::co_spawn(context_, accept_operators(), &end_of_coroutine);
    }
    start();
  }
  plane(const plane&) = delete;
  plane& operator=(const plane&) = delete;
  ~plane() {
    context_.stop();
    thread_.join();
    open_.give_memory(); // the end of a trial needs some
    answers_.end_trials();
  }

  /// Returns whether this process has the thread: the child of a process fork has not.
  bool is_here() const noexcept { return ::getpid() == process_; }
  /// Closes the listening descriptors of the child of a process fork, or its parent's addresses stay taken.
  void close_here() noexcept {
    for (std::optional<tcp::acceptor>* const a : {&read_only_, &agent_})
      if (*a) ::close((*a)->native_handle());
    if (control_) ::close(control_->native_handle());
  }
  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t agent_port() const noexcept { return agent_port_; }
  void start_draining() noexcept { answers_.start_draining(); }

 private:
  using conversation_by_tcp = conversations::conversation (conversations::*)(tcp::socket peer,
                                                                             std::string address);

  static void end_of_coroutine(const std::exception_ptr& /*why*/) noexcept {} // its connection is closed

  /// Starts the thread, which gets no signals of the program's.
  void start() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (...) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() noexcept {
    ::pthread_setname_np(::pthread_self(), "cw-admin");
    const auto guard = asio::make_work_guard(context_);
    while (!context_.stopped()) try {
        context_.run();
      } catch (...) {
        continue; // without memory: what was asked ends without an answer
      }
  }

  /// `others`: with peers that are in none of the networks; null: there is none.
  asio::awaitable<void> accept_by_tcp(tcp::acceptor& at, conversation_by_tcp listed,
                                      conversation_by_tcp others) {
    for (;;) try {
        tcp::socket peer = co_await accept(at);
        boost::system::error_code gone;
        const tcp::endpoint from = peer.remote_endpoint(gone);
        if (gone) continue;
        const conversation_by_tcp begin = allowed(from.address(), networks_) ? listed : others;
        if (begin == nullptr) {
          conversations_.log_refusal(
              fmt::format("{}: refused, it is in none of the networks", from.address().to_string()));
          continue;
        }
        std::string name = from.address().to_string();
        if (open_.count() >= most_connections - kept_for_control || open_.count(name) >= most_of_one_address)
          continue;
        if (begin == others && open_.strangers() >= most_of_strangers) continue;
        asio::co_spawn(context_, (conversations_.*begin)(std::move(peer), std::move(name)),
                       &end_of_coroutine);
      } catch (...) { // no memory, or the program's log has thrown: the next one may come
        std::this_thread::sleep_for(pause_after_exception);
      }
  }

  asio::awaitable<void> accept_operators() {
    for (;;) try {
        local::socket peer = co_await accept(*control_);
        uid_t user = 0;
        const bool own = is_own(peer.native_handle(), user);
        std::string name = fmt::format("user {}", user);
        if (!own) answers_.log(name + ": refused, the control socket is for this process's user and root");
        if (!own || open_.count() >= most_connections) continue;
        asio::co_spawn(context_, conversations_.with_operator(std::move(peer), std::move(name)),
                       &end_of_coroutine);
      } catch (...) { // no memory, or the program's log has thrown: the next one may come
        std::this_thread::sleep_for(pause_after_exception);
      }
  }

  /// Waits for a connection. Asio's own way would hand the socket to programs that are started meanwhile.
  template <class Acceptor> asio::awaitable<typename Acceptor::protocol_type::socket> accept(Acceptor& from) {
    for (;;) {
      open_.keep_memory();
      co_await from.async_wait(asio::socket_base::wait_read, in_tuple);
      const auto protocol = from.local_endpoint().protocol();
      const int fd = ::accept4(from.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        open_.give_memory();
        co_return adopted<typename Acceptor::protocol_type::socket>(context_, protocol, fd);
      }
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) co_await pause();
    }
  }

  /// Waits after a failed accept: without descriptors the next one would fail as well.
  asio::awaitable<void> pause() {
    asio::steady_timer timer(context_, pause_without_descriptors);
    co_await timer.async_wait(in_tuple);
  }

  // Only the thread uses these, once it runs.
  answers answers_;
  open_connections open_; // coroutines that go with the context count themselves out
  asio::io_context context_{1};
  conversations conversations_; // its trace, which posts to the context, ends before that
  std::vector<network> networks_;
  std::optional<tcp::acceptor> read_only_;
  std::optional<tcp::acceptor> agent_;
  std::optional<local::acceptor> control_;
  std::optional<socket_path> control_path_;

  std::uint16_t port_ = 0;
  std::uint16_t agent_port_ = 0;
  const pid_t process_ = ::getpid();
  std::thread thread_;
};

server::server(engine& e, const options& o) : plane_(std::make_unique<plane>(served(e), o)) {}
server::server(engine_set& engines, const options& o) : plane_(std::make_unique<plane>(served(engines), o)) {}

server::~server() {
  if (plane_->is_here()) return;
  plane* const parents = plane_.release(); // it stays: the thread and what it watches are not ours
  parents->close_here();
}

void server::start_draining() noexcept { plane_->start_draining(); }
std::uint16_t server::port() const noexcept { return plane_->port(); }
std::uint16_t server::agent_port() const noexcept { return plane_->agent_port(); }

} // namespace corewise::admin
