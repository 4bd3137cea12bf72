#include "admin_client.hpp"

#include "../streams.hpp"
#include "query.hpp" // of admin/: what both ends of a request agree on
#include "token.hpp" // of admin/

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>

namespace corewise::command {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using local = asio::local::stream_protocol;
using request = http::request<http::string_body>;

namespace {

constexpr std::uint64_t longest_answer = std::uint64_t{512} << 20;
constexpr std::string_view server_name = "corewise";

[[noreturn]] void fail(const std::string& address, std::string_view why) {
  throw unreachable(fmt::format("{}: {}", address, why));
}

/// Starts an operation, and waits until it has ended. Returns its error.
template <class Start> beast::error_code result_of(asio::io_context& in, const Start& start) {
  beast::error_code result;
  start([&](const beast::error_code& why, const auto&...) { result = why; });
  in.restart();
  in.run();
  return result;
}

[[noreturn]] void fail_to_connect(const std::string& address, bool path, const beast::error_code& why) {
  namespace errc = boost::system::errc;
  if (why == beast::error::timeout) fail(address, "no connection in time");
  struct stat there{};
  if (path && ::stat(address.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode))
    fail(address, "this is no socket");
  if (path && why == errc::no_such_file_or_directory)
    fail(address, "there is no such socket; does the daemon run, and is this its control socket?");
  if (path && why == errc::permission_denied)
    fail(address, "permission denied; a control socket is for the user of its process, and root");
  if (path && why == errc::connection_refused)
    fail(address, "nothing listens there; the daemon that made this socket has ended");
  if (why == errc::connection_refused) fail(address, "nothing listens there");
  fail(address, why.message());
}

[[noreturn]] void fail_to_read(const std::string& address, std::chrono::seconds within, bool any,
                               const beast::error_code& why) {
  if (why == beast::error::timeout) fail(address, fmt::format("no answer within {} s", within.count()));
  if (any && why != http::error::partial_message &&
      why.category() == make_error_code(http::error::bad_version).category())
    fail(address, fmt::format("what answers there is no admin server: {}", why.message()));
  if (any) fail(address, fmt::format("the answer breaks off: {}", why.message()));
  fail(address, "the connection was closed without an answer; a control socket answers only the user of its "
                "process and root, a read-only address only its networks");
}

/// Sends a request on a stream that is connected, and returns the answer. A server that refuses a request may
/// answer before it has read it.
template <class Stream>
reply converse(asio::io_context& in, Stream& stream, const request& asked, const std::string& address,
               std::chrono::seconds within) {
  const beast::error_code unsent =
      result_of(in, [&](auto then) { http::async_write(stream, asked, std::move(then)); });
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(longest_answer);
  const beast::error_code unread =
      result_of(in, [&](auto then) { http::async_read(stream, buffer, parser, std::move(then)); });
  if (unread)
    fail_to_read(address, within, parser.got_some() || buffer.size() != 0, unsent ? unsent : unread);
  const http::response<http::string_body>& got = parser.get();
  const auto server = got[http::field::server];
  if (std::string_view(server.data(), server.size()) != server_name)
    fail(address, "what answers there is no admin server of corewise");
  return {got.result_int(), got.body()};
}

/// `at`: an endpoint, or what a name was resolved to.
template <class Protocol, class Endpoints>
reply ask(asio::io_context& in, const Endpoints& at, const request& asked, const std::string& address,
          std::chrono::seconds within) {
  beast::basic_stream<Protocol> stream(in);
  stream.expires_after(within);
  if (const auto why = result_of(in, [&](auto then) { stream.async_connect(at, std::move(then)); }))
    fail_to_connect(address, std::is_same_v<Protocol, local>, why);
  return converse(in, stream, asked, address, within);
}

request request_for(http::verb verb, std::string_view target, const std::string& host,
                    const std::string& token) {
  request asked(verb, beast::string_view(target.data(), target.size()), 11);
  asked.set(http::field::host, host);
  asked.set(http::field::user_agent, "corewise/" COREWISE_VERSION);
  if (!token.empty()) asked.set(http::field::authorization, "Bearer " + token);
  return asked;
}

reply send(const request& asked, const std::string& address, const std::string& host, const std::string& port,
           std::chrono::seconds within) {
  asio::io_context in{1};
  if (port.empty()) {
    if (address.size() >= sizeof(sockaddr_un::sun_path)) fail(address, "the path is too long for a socket");
    return ask<local>(in, local::endpoint(address), asked, address, within);
  }
  beast::error_code why;
  tcp::resolver names(in);
  const auto found = names.resolve(host, port, tcp::resolver::numeric_service, why);
  if (why) fail(address, why.message());
  return ask<tcp>(in, found, asked, address, within);
}

/// Returns the port of HOST:PORT, which may be too large; "" for a path.
std::string_view port_in(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || address.find('/') != std::string_view::npos) return {};
  const std::string_view port = address.substr(colon + 1);
  return std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }) ? port : std::string_view();
}

std::string check_address(const std::string& address) {
  const std::string_view text = port_in(address);
  std::uint16_t port = 0;
  if (text.empty() ||
      (std::from_chars(text.data(), text.data() + text.size(), port).ec == std::errc() && port != 0))
    return "";
  return fmt::format("found `{}`; expected a path, or HOST:PORT with a port from 1 to 65535", address);
}

} // namespace

admin_client::admin_client(const admin_address& address)
    : address_(address.where),
      name_(address.engine.empty() ? address_ : fmt::format("{}, {}", address_, address.engine)),
      engine_(admin::encoded(address.engine)),
      token_(address.token.empty() ? "" : admin::read_token(address.token)) {
  port_ = port_in(address_);
  if (port_.empty()) return; // a path
  host_ = address_.substr(0, address_.size() - port_.size() - 1);
  if (host_.front() == '[' && host_.back() == ']') host_ = host_.substr(1, host_.size() - 2);
}

std::string admin_client::with_engine(std::string_view target) const {
  if (engine_.empty()) return std::string(target);
  return fmt::format("{}{}engine={}", target, target.find('?') == std::string_view::npos ? '?' : '&',
                     engine_);
}

reply admin_client::get(std::string_view target, std::string_view accept, std::chrono::seconds within) const {
  request asked =
      request_for(http::verb::get, with_engine(target), is_control() ? "localhost" : address_, token_);
  asked.set(http::field::accept, beast::string_view(accept.data(), accept.size()));
  return send(asked, address_, host_, port_, within);
}

reply admin_client::put(std::string_view target, const std::string& body) const {
  request asked =
      request_for(http::verb::put, with_engine(target), is_control() ? "localhost" : address_, token_);
  asked.body() = body;
  asked.prepare_payload();
  return send(asked, address_, host_, port_, time_limit);
}

CLI::Option* add_connect_option(CLI::App& app, admin_address& address) {
  app.add_option("--engine", address.engine, "The engine, where the daemon has several")->type_name("NAME");
  app.add_option("--token", address.token,
                 "The file with the admin server's token, for its read-only address")
      ->type_name("FILE");
  return app
      .add_option("--connect", address.where,
                  "The admin server of the daemon: the path of its control socket, or its read-only address")
      ->type_name("SOCKET|HOST:PORT")
      ->check(CLI::Validator(check_address, ""));
}

std::string text_of_refusal(const reply& answer, const admin_client& from, std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  if (answer.status == 401)
    return from.has_token() ? fmt::format("{}: the token is another one than the server's", from.address())
                            : fmt::format("{}: {} needs the token; name its file with --token, or connect to "
                                          "the control socket, a path",
                                          from.address(), path);
  if (answer.status == 404 && from.has_token() && !from.is_control())
    return fmt::format("{}: there is no {} for you; the server has no token, or does not list your network",
                       from.address(), path);
  if (answer.status == 404 && !from.is_control())
    return fmt::format("{}: a read-only address has no {}; connect to the control socket, a path",
                       from.address(), path);
  return fmt::format("{}: {} was answered with status {}: {}", from.address(), path, answer.status,
                     answer.body.substr(0, answer.body.find('\n')));
}

void complain_about(const reply& answer, const admin_client& from, std::string_view target) {
  complain(text_of_refusal(answer, from, target));
}

} // namespace corewise::command
