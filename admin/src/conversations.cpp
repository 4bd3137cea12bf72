#include "conversations.hpp"

#include "query.hpp"

#include <boost/asio/as_tuple.hpp>
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

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

namespace corewise::admin {

namespace asio = boost::asio;
namespace beast = boost::beast;
using namespace std::chrono_literals;

namespace {

using tcp = conversations::tcp;
using local = conversations::local;

constexpr std::uint32_t longest_header = 8 * 1024;
constexpr std::uint64_t longest_body = 256 * 1024;
constexpr auto time_for_header = 5s;

constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

constexpr auto in_tuple = asio::as_tuple(asio::use_awaitable);

std::string own_address(const tcp::socket& peer) {
  boost::system::error_code why;
  const auto address = peer.local_endpoint(why).address();
  if (!address.is_v6()) return address.to_string();
  asio::ip::address_v6 six = address.to_v6();
  six.scope_id(0); // a `Host` names no interface
  return six.is_v4_mapped() ? asio::ip::make_address_v4(asio::ip::v4_mapped, six).to_string()
                            : six.to_string();
}
/// A browser may come by a port that is forwarded to the socket.
std::string own_address(const local::socket& /*peer*/) { return "127.0.0.1"; }

bool asks_for_trace(const request& asked) {
  return asked.method() == http::verb::get &&
         split_target({asked.target().data(), asked.target().size()}).path == "/trace";
}

response unauthorized() {
  response res = text_answer(http::status::unauthorized, "this needs the token (Authorization: Bearer)\n");
  res.set(http::field::www_authenticate, "Bearer");
  return res;
}

response refusal(const beast::error_code& why) {
  http::status status = http::status::bad_request;
  if (why == http::error::body_limit) status = http::status::payload_too_large;
  if (why == http::error::header_limit) status = http::status::request_header_fields_too_large;
  return text_answer(status, why.message() + "\n");
}

void finish(response& res, bool head) {
  res.set(http::field::server, "corewise");
  res.set(http::field::cache_control, "no-store");
  res.set("X-Content-Type-Options", "nosniff");
  if (res["Content-Security-Policy"].empty()) res.set("Content-Security-Policy", "default-src 'none'");
  res.keep_alive(false);
  res.content_length(res.body().size());
  if (head) res.body().clear();
}

/// Lets the peer read the answer before the connection is closed: what it still sends is read.
template <class Stream> asio::awaitable<void> close_gently(Stream& stream) {
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

/// Sets the timer of trials anew, also when the program's log throws.
class trials_followed {
 public:
  explicit trials_followed(trial_timer& by) noexcept : by_(by) {}
  trials_followed(const trials_followed&) = delete;
  trials_followed& operator=(const trials_followed&) = delete;
  ~trials_followed() { by_.follow(); }

 private:
  trial_timer& by_;
};

} // namespace

/// A trace that is being taken. `conversations` keeps it until its thread has ended: to destroy it sooner would hold the
/// server's thread up.
struct conversations::running_trace {
  explicit running_trace(asio::io_context& in) : ended(in, asio::steady_timer::time_point::max()) {}

  asio::steady_timer ended;
  bool abandoned = false; // the peer has gone, or the conversation has ended
  std::optional<trace_job> job;
};

/// Stops a trace with the conversation that waits for it, whatever ends that.
class conversations::stopped_trace {
 public:
  explicit stopped_trace(running_trace& of) noexcept : of_(of) {}
  stopped_trace(const stopped_trace&) = delete;
  stopped_trace& operator=(const stopped_trace&) = delete;
  ~stopped_trace() {
    of_.abandoned = true;
    if (of_.job) of_.job->stop();
  }

 private:
  running_trace& of_;
};

conversations::~conversations() {
  if (trace_) trace_->job.reset();
}

conversations::conversation conversations::with_reader(tcp::socket peer, std::string address) {
  return converse(std::move(peer), {false, std::move(address)});
}

conversations::conversation conversations::with_stranger(tcp::socket peer, std::string address) {
  return converse(std::move(peer), {false, std::move(address), false, true});
}

conversations::conversation conversations::with_operator(local::socket peer, std::string user) {
  return converse(std::move(peer), {true, std::move(user)});
}

conversations::conversation conversations::with_balancer(tcp::socket peer, std::string address) {
  const open_connections::counted here(open_, address, /*stranger=*/false);
  beast::basic_stream<tcp> stream(std::move(peer));
  const std::string line = answers_.agent_line();
  stream.expires_after(for_body_);
  co_await asio::async_write(stream, asio::buffer(line), in_tuple);
  co_await close_gently(stream);
}

template <class Socket> conversations::conversation conversations::converse(Socket peer, caller from) {
  const open_connections::counted here(open_, from.name, from.stranger);
  const std::string address = own_address(peer);
  beast::basic_stream<typename Socket::protocol_type> stream(std::move(peer));
  beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  parser.header_limit(longest_header);
  parser.body_limit(longest_body);
  stream.expires_after(time_for_header);
  auto [why, ignored] = co_await http::async_read_header(stream, buffer, parser, in_tuple);
  stream.expires_after(for_body_);
  if (!why && !parser.is_done()) {
    // Source: RFC 9110, 10.1.1.
    if (beast::iequals(parser.get()[http::field::expect], "100-continue"))
      co_await asio::async_write(stream, asio::buffer(go_on), in_tuple);
    std::tie(why, ignored) = co_await http::async_read(stream, buffer, parser, in_tuple);
  }
  if (why && why.category() != beast::error_code(http::error::bad_method).category())
    co_return; // it has gone
  response res;
  if (why)
    res = refusal(why);
  else if (!show_token(parser.get(), from))
    res = unauthorized();
  else if (from.control && asks_for_trace(parser.get()) && asks_for_us(parser.get(), address, hosts_)) {
    stream.expires_never();
    std::optional<response> taken = co_await trace(parser.get(), from, stream.socket());
    if (!taken) co_return; // its caller has gone
    res = *std::move(taken);
  } else
    res = answer(parser.get(), address, from);
  stream.expires_after(for_body_ + std::chrono::seconds(res.body().size() >> 20)); // a trace is of many MB
  const bool head = !why && parser.get().method() == http::verb::head;
  finish(res, head);
  http::response_serializer<http::string_body> out(res);
  if (head)
    co_await http::async_write_header(stream, out, in_tuple);
  else
    co_await http::async_write(stream, out, in_tuple);
  co_await close_gently(stream);
}

response conversations::answer(const request& asked, const std::string& address, const caller& from) {
  if (!asks_for_us(asked, address, hosts_))
    return text_answer(http::status::forbidden,
                       "this machine has no such name, or the request comes from another site\n");
  const trials_followed after(trials_);
  return answers_.to(asked, from);
}

/// Lets a caller do more that shows the token, unless it is a stranger. Returns false if it shows another one, or none where
/// one is needed.
bool conversations::show_token(const request& asked, caller& from) {
  if (from.control || !token_) return true;
  if (asked.count(http::field::authorization) == 0) {
    if (from.stranger) log_refusal(from.name + ": refused, it is in none of the networks and shows no token");
    return !from.stranger && !token_for_all_ &&
           !answers::is_for_control(split_target({asked.target().data(), asked.target().size()}).path);
  }
  const auto shown = asked[http::field::authorization];
  if (!token_.is_in({shown.data(), shown.size()})) {
    log_refusal(from.name + ": refused, it has shown another token");
    return false;
  }
  if (!from.stranger) from = {true, from.name + " with the token", changes_by_tcp_};
  return true;
}

void conversations::log_refusal(std::string line) {
  if (const auto due = refusals_.next(std::move(line), std::chrono::steady_clock::now())) answers_.log(*due);
}

/// Answers with a trace when its time is over, or with nothing when the peer has gone before. There is one at a time.
template <class Socket>
asio::awaitable<std::optional<response>> conversations::trace(const request& asked, const caller& from,
                                                              Socket& peer) {
  const std::string_view query = split_target({asked.target().data(), asked.target().size()}).query;
  const auto wanted = read_wanted_trace(query);
  if (const auto* const why = std::get_if<std::string>(&wanted))
    co_return text_answer(http::status::bad_request, *why);
  const std::optional<std::size_t> of = answers_.engines().chosen_by(query);
  if (!of) co_return text_answer(http::status::bad_request, answers_.engines().advice());
  if (trace_)
    co_return text_answer(http::status::conflict, "a trace is being taken; ask again when it has ended\n");
  const std::string name = answers_.engines().label(*of);
  answers_.log(fmt::format("{}: takes a trace{}", from.name, name.empty() ? name : " of " + name));
  const auto running = std::make_shared<running_trace>(context_);
  const stopped_trace whatever_ends_this(*running);
  try {
    running->job.emplace(answers_.engines()[*of], std::get<wanted_trace>(wanted), [this] {
      asio::post(context_, [this] { std::exchange(trace_, nullptr)->ended.cancel(); });
    });
  } catch (const std::system_error& error) {
    co_return text_answer(http::status::service_unavailable,
                          fmt::format("no thread for the trace: {}\n", error.what()));
  }
  trace_ = running;
  peer.async_wait(asio::socket_base::wait_read,
                  [&peer, here = std::weak_ptr(running)](const boost::system::error_code& why) {
                    const auto still = here.lock();
                    if (why || !still || still->abandoned) return;
                    boost::system::error_code failed; // the conversation goes on, so the peer is here, too
                    if (peer.available(failed) != 0) return;
                    still->abandoned = true; // the end of the stream can be read, or an error
                    still->ended.cancel();
                  });
  co_await running->ended.async_wait(in_tuple);
  if (running->abandoned) co_return std::nullopt;
  co_return running->job->take();
}

} // namespace corewise::admin
