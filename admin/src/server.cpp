#include "answers.hpp"
#include "limited_lines.hpp"
#include "memory_reserve.hpp"
#include "network.hpp"
#include "query.hpp"
#include "sockets.hpp"
#include "token.hpp"
#include "trace_job.hpp"

#include <corewise/admin/server.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace corewise::admin {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using local = asio::local::stream_protocol;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t longest_header = 8 * 1024;
constexpr std::uint64_t longest_body = 256 * 1024;
constexpr auto time_for_header = 5s;
constexpr auto time_for_rest = 10s;
constexpr std::size_t most_connections = 64;
constexpr std::size_t kept_for_control = 4; // of these
constexpr auto pause_without_descriptors = 100ms;
constexpr auto pause_after_exception = 10ms;

constexpr auto in_tuple = asio::as_tuple(asio::use_awaitable);

} // namespace

class server::plane {
 public:
  plane(served engines, const options& o)
      : answers_(std::move(engines), o.log, o.requests),
        hosts_(o.hosts),
        token_(o.token),
        changes_by_tcp_(o.changes_by_tcp),
        trial_(context_) {
    if (token_ && o.read_only.empty())
      throw std::invalid_argument("a token without a read-only address, where it would be shown");
    if (o.changes_by_tcp && !token_) throw std::invalid_argument("changes by TCP without a token");
    for (const std::string& text : o.networks) networks_.emplace_back(text);
    if (!o.read_only.empty()) {
      read_only_.emplace(listen_at(context_, o.read_only));
      port_ = read_only_->local_endpoint().port();
      asio::co_spawn(context_, accept_by_tcp(*read_only_, &plane::answer_reader), &end_of_coroutine);
    }
    if (!o.agent.empty()) {
      agent_.emplace(listen_at(context_, o.agent));
      agent_port_ = agent_->local_endpoint().port();
      asio::co_spawn(context_, accept_by_tcp(*agent_, &plane::tell_balancer), &end_of_coroutine);
    }
    if (!o.control.empty()) {
      control_.emplace(context_, local(), new_socket(AF_UNIX));
      control_path_.emplace(context_, control_->native_handle(), o.control);
      asio::co_spawn(context_, accept_operators(), &end_of_coroutine);
    }
    start();
  }
  plane(const plane&) = delete;
  plane& operator=(const plane&) = delete;
  ~plane() {
    context_.stop();
    thread_.join();
  }

  /// Returns whether this process has the thread: the child of a process fork has not.
  bool is_here() const noexcept { return ::getpid() == process_; }
  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t agent_port() const noexcept { return agent_port_; }
  void start_draining() noexcept { answers_.start_draining(); }

 private:
  using serve_by_tcp = asio::awaitable<void> (plane::*)(tcp::socket peer, std::string address);

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

  asio::awaitable<void> accept_by_tcp(tcp::acceptor& at, serve_by_tcp serve) {
    for (;;) try {
        tcp::socket peer = co_await accept(at);
        boost::system::error_code gone;
        const tcp::endpoint from = peer.remote_endpoint(gone);
        if (gone) continue;
        if (!allowed(from.address(), networks_)) {
          log_refusal(fmt::format("{}: refused, it is in none of the networks", from.address().to_string()));
          continue;
        }
        if (open_ >= most_connections - kept_for_control) continue;
        asio::co_spawn(context_, (this->*serve)(std::move(peer), from.address().to_string()),
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
        if (!own || open_ >= most_connections) continue;
        asio::co_spawn(context_, converse<local>(std::move(peer), {true, std::move(name)}),
                       &end_of_coroutine);
      } catch (...) { // no memory, or the program's log has thrown: the next one may come
        std::this_thread::sleep_for(pause_after_exception);
      }
  }

  /// Waits for a connection. Asio's own way would hand the socket to programs that are started meanwhile.
  template <class Acceptor> asio::awaitable<typename Acceptor::protocol_type::socket> accept(Acceptor& from) {
    for (;;) {
      if (open_ == 0) reserve_.fill();
      co_await from.async_wait(asio::socket_base::wait_read, in_tuple);
      const auto protocol = from.local_endpoint().protocol();
      const int fd = ::accept4(from.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        reserve_.release();
        co_return adopted<typename Acceptor::protocol_type>(protocol, fd);
      }
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) co_await pause();
    }
  }

  /// Returns a socket that has taken the descriptor over. Where there can be none, closes it and throws.
  template <class Protocol> typename Protocol::socket adopted(const Protocol& protocol, int fd) {
    try {
      return typename Protocol::socket(context_, protocol, fd);
    } catch (...) {
      ::close(fd);
      throw;
    }
  }

  /// Waits after a failed accept: without descriptors the next one would fail as well.
  asio::awaitable<void> pause() {
    asio::steady_timer timer(context_, pause_without_descriptors);
    co_await timer.async_wait(in_tuple);
  }

  asio::awaitable<void> answer_reader(tcp::socket peer, std::string address) {
    return converse<tcp>(std::move(peer), {false, std::move(address)});
  }

  /// Writes the line of the agent check, and closes the connection. What HAProxy may send is not looked at.
  asio::awaitable<void> tell_balancer(tcp::socket peer, std::string /*address*/) {
    const counted here(*this);
    beast::basic_stream<tcp> stream(std::move(peer));
    const std::string line = answers_.agent_line();
    stream.expires_after(time_for_rest);
    co_await asio::async_write(stream, asio::buffer(line), in_tuple);
    co_await close_gently(stream);
  }

  /// Answers one request, and closes the connection.
  template <class Protocol> asio::awaitable<void> converse(typename Protocol::socket peer, caller from) {
    const counted here(*this);
    const std::string address = own_address(peer);
    beast::basic_stream<Protocol> stream(std::move(peer));
    beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    parser.header_limit(longest_header);
    parser.body_limit(longest_body);
    stream.expires_after(time_for_header);
    auto [why, ignored] = co_await http::async_read_header(stream, buffer, parser, in_tuple);
    stream.expires_after(time_for_rest);
    if (!why && !parser.is_done())
      std::tie(why, ignored) = co_await http::async_read(stream, buffer, parser, in_tuple);
    if (why && why.category() != beast::error_code(http::error::bad_method).category())
      co_return; // it has gone
    response res;
    if (why)
      res = refusal(why);
    else if (!show_token(parser.get(), from))
      res = unauthorized();
    else if (from.control && asks_for_trace(parser.get()) && asks_for_us(parser.get(), address, hosts_))
      res = co_await trace(parser.get(), from);
    else
      res = answer(parser.get(), address, from);
    stream.expires_after(time_for_rest);
    const bool head = !why && parser.get().method() == http::verb::head;
    finish(res, head);
    http::response_serializer<http::string_body> out(res);
    if (head)
      co_await http::async_write_header(stream, out, in_tuple);
    else
      co_await http::async_write(stream, out, in_tuple);
    co_await close_gently(stream);
  }

  /// Lets the peer read the answer before the connection is closed: what it still sends is read.
  template <class Stream> static asio::awaitable<void> close_gently(Stream& stream) {
    boost::system::error_code why;
    stream.socket().shutdown(asio::socket_base::shutdown_send, why);
    stream.expires_after(1s);
    char rest[512];
    for (std::size_t bytes = 0; !why && bytes < 2 * longest_body;) {
      std::size_t n = 0;
      std::tie(why, n) = co_await stream.async_read_some(asio::buffer(rest), in_tuple);
      bytes += n;
    }
  }

  response answer(const request& asked, const std::string& address, const caller& from) {
    if (!asks_for_us(asked, address, hosts_))
      return text_answer(http::status::forbidden,
                         "this machine has no such name, or the request comes from another site\n");
    const trial_watch armed(*this); // also when the program's log throws
    return answers_.to(asked, from);
  }

  /// Lets a caller do more that shows the token. Returns false if it shows another one, or none where one is needed.
  bool show_token(const request& asked, caller& from) {
    if (from.control || !token_) return true;
    if (asked.count(http::field::authorization) == 0)
      return !answers::is_for_control(split_target({asked.target().data(), asked.target().size()}).path);
    const auto shown = asked[http::field::authorization];
    if (!token_.is_in({shown.data(), shown.size()})) {
      log_refusal(from.name + ": refused, it has shown another token");
      return false;
    }
    from = {true, from.name + " with the token", changes_by_tcp_};
    return true;
  }

  /// Logs a line that strangers cause, if there have not been many.
  void log_refusal(std::string line) {
    if (const auto due = refusals_.next(std::move(line), std::chrono::steady_clock::now()))
      answers_.log(*due);
  }

  static response unauthorized() {
    response res = text_answer(http::status::unauthorized, "this needs the token (Authorization: Bearer)\n");
    res.set(http::field::www_authenticate, "Bearer");
    return res;
  }

  static bool asks_for_trace(const request& asked) {
    return asked.method() == http::verb::get &&
           split_target({asked.target().data(), asked.target().size()}).path == "/trace";
  }

  /// Answers with a trace when its time is over. There is one at a time.
  asio::awaitable<response> trace(const request& asked, const caller& from) {
    const std::string_view query = split_target({asked.target().data(), asked.target().size()}).query;
    const std::optional<std::size_t> of = answers_.engines().chosen_by(query);
    if (!of) co_return text_answer(http::status::bad_request, answers_.engines().advice());
    const auto wanted = read_wanted_trace(query);
    if (const auto* const why = std::get_if<std::string>(&wanted))
      co_return text_answer(http::status::bad_request, *why);
    if (trace_)
      co_return text_answer(http::status::conflict, "a trace is being taken; ask again when it has ended\n");
    const std::string name = answers_.engines().label(*of);
    answers_.log(fmt::format("{}: takes a trace{}", from.name, name.empty() ? name : " of " + name));
    asio::steady_timer ended(context_, asio::steady_timer::time_point::max());
    try {
      trace_.emplace(answers_.engines()[*of], std::get<wanted_trace>(wanted),
                     [&] { asio::post(context_, [&ended] { static_cast<void>(ended.cancel()); }); });
    } catch (const std::system_error& error) {
      co_return text_answer(http::status::service_unavailable,
                            fmt::format("no thread for the trace: {}\n", error.what()));
    }
    co_await ended.async_wait(in_tuple);
    response res = trace_->take();
    trace_.reset();
    co_return res;
  }

  static response refusal(const beast::error_code& why) {
    http::status status = http::status::bad_request;
    if (why == http::error::body_limit) status = http::status::payload_too_large;
    if (why == http::error::header_limit) status = http::status::request_header_fields_too_large;
    return text_answer(status, why.message() + "\n");
  }

  static void finish(response& res, bool head) {
    res.set(http::field::server, "corewise");
    res.set(http::field::cache_control, "no-store");
    res.set("X-Content-Type-Options", "nosniff");
    if (res["Content-Security-Policy"].empty()) res.set("Content-Security-Policy", "default-src 'none'");
    res.keep_alive(false);
    res.content_length(res.body().size());
    if (head) res.body().clear();
  }

  /// Sets the timer of the next trial anew, if a request may have changed when that ends.
  struct trial_watch {
    explicit trial_watch(plane& of) noexcept : in(of) {}
    trial_watch(const trial_watch&) = delete;
    trial_watch& operator=(const trial_watch&) = delete;
    ~trial_watch() { in.follow_trial(); }
    plane& in;
  };
  void follow_trial() noexcept {
    const auto next = answers_.trials().next();
    if (next == trial_ends_) return;
    trial_ends_ = next;
    static_cast<void>(trial_.cancel());
    if (next) revert_at(*next);
  }

  /// Reverts changes when their trials are over; without memory, tries again.
  void revert_at(std::chrono::steady_clock::time_point at) noexcept try {
    reserve_.release(); // the timer needs some
    static_cast<void>(trial_.expires_at(at));
    trial_.async_wait([this](const boost::system::error_code& why) {
      if (why) return;
      try {
        answers_.trials().revert(std::chrono::steady_clock::now(),
                                 [this](const std::string& line) { answers_.log(line); });
        follow_trial();
      } catch (...) { // as above
        revert_at(std::chrono::steady_clock::now() + 1s);
      }
    });
  } catch (...) {
    trial_ends_.reset(); // the next request tries again
  }

  static std::string own_address(const tcp::socket& peer) {
    boost::system::error_code why;
    const auto address = peer.local_endpoint(why).address();
    const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    return (mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()) : address).to_string();
  }
  /// A browser may come by a port that is forwarded to the socket.
  static std::string own_address(const local::socket& /*peer*/) { return "127.0.0.1"; }

  /// Counts a connection while it lives. The last one to go leaves its memory to the next.
  struct counted {
    explicit counted(plane& by) noexcept : in(by) { ++in.open_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
      if (--in.open_ == 0) in.reserve_.fill();
    }
    plane& in;
  };

  // Only the thread uses these, once it runs.
  answers answers_;
  const std::vector<std::string> hosts_;
  const token token_;
  const bool changes_by_tcp_;
  limited_lines refusals_;
  std::size_t open_ = 0;
  memory_reserve reserve_;
  std::vector<network> networks_;
  asio::io_context context_{1}; // before all that its coroutines use goes
  asio::steady_timer trial_;
  std::optional<std::chrono::steady_clock::time_point> trial_ends_; // for which the timer is set
  std::optional<tcp::acceptor> read_only_;
  std::optional<tcp::acceptor> agent_;
  std::optional<local::acceptor> control_;
  std::optional<socket_path> control_path_;
  std::optional<trace_job> trace_; // ends before the context that it posts to

  std::uint16_t port_ = 0;
  std::uint16_t agent_port_ = 0;
  const pid_t process_ = ::getpid();
  std::thread thread_;
};

server::server(engine& e, const options& o) : plane_(std::make_unique<plane>(served(e), o)) {}
server::server(engine_set& engines, const options& o) : plane_(std::make_unique<plane>(served(engines), o)) {}

server::~server() {
  if (plane_->is_here()) return;
  plane* const parents = plane_.release(); // it stays: thread and sockets are not ours
  static_cast<void>(parents);
}

void server::start_draining() noexcept { plane_->start_draining(); }
std::uint16_t server::port() const noexcept { return plane_->port(); }
std::uint16_t server::agent_port() const noexcept { return plane_->agent_port(); }

} // namespace corewise::admin
