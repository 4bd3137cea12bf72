// An HTTP server: each connection is a coroutine, which runs where its packets come. It reads its profile again on
// SIGHUP. On SIGTERM it answers what it has begun to read, and ends. Usage: http_server [PORT [PROFILE]]
#include <corewise/engine/engine.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/engine/request_meter.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/io/listen.hpp>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

namespace asio = corewise::io::asio;
namespace http = boost::beast::http;
namespace io = corewise::io;
using signal_set = asio::basic_signal_set<io::executor>;
using namespace std::chrono_literals;

namespace {
using response = http::response<http::string_body>;

/// What all connections share.
struct server {
  std::stop_source ending; ///< told to stop by SIGTERM
  corewise::request_meter requests;
  std::optional<corewise::load_meter> load;
};

std::uint64_t count_primes(std::uint64_t below) {
  std::uint64_t found = 0;
  for (std::uint64_t n = 2; n < below; ++n) {
    std::uint64_t d = 2;
    while (d * d <= n && n % d != 0) ++d;
    found += d * d > n ? 1 : 0;
  }
  return found;
}

std::string read_slowly() {
  std::this_thread::sleep_for(5ms); // a file, a library that blocks
  return "read\n";
}

corewise::task<response> answer(const http::request<http::string_body>& asked,
                                const corewise::engine& engine) {
  response res(http::status::ok, asked.version());
  res.set(http::field::content_type, "text/plain");
  if (asked.method() != http::verb::get)
    res.result(http::status::method_not_allowed);
  else if (asked.target() == "/")
    res.body() = "hello\n";
  else if (asked.target() == "/primes")
    res.body() = std::to_string(count_primes(20'000)) + "\n"; // other workers take the other connections
  else if (asked.target() == "/file")
    res.body() = co_await corewise::run_blocking(read_slowly);
  else if (asked.target() == "/metrics")
    res.body() = engine.metrics().to_prometheus(); // for Prometheus
  else
    res.result(http::status::not_found);
  co_return res;
}

/// Lets the client read the last response before the connection is closed: what it still sends is read, 4 KiB a second or more.
corewise::task<> close_gently(io::tcp_stream& peer) {
  io::error_code why;
  why = peer.shutdown(io::tcp_stream::shutdown_send, why);
  char rest[4096];
  while (!why) co_await asio::async_read(peer, asio::buffer(rest), io::use_task.within(1s).into(why));
}

corewise::task<> serve(io::tcp_stream peer, server& all, const corewise::engine& engine) {
  boost::beast::flat_buffer buffer(16'384);
  io::error_code why;
  for (bool keep = true; keep;) {
    if (buffer.size() == 0) { // idle: a stop closes the connection
      const auto until_end = io::use_task(all.ending.get_token()).into(why);
      buffer.commit(co_await peer.async_read_some(buffer.prepare(4096), until_end));
      if (why) co_return;
    }
    http::request_parser<http::string_body> parser;
    parser.body_limit(1'000'000);
    co_await http::async_read(peer, buffer, parser, io::use_task.within(10s).into(why));
    const auto here = all.requests.begin(); // until the response is written
    response res(http::status::bad_request, 11);
    keep = false;
    if (!why) {
      res = co_await answer(parser.get(), engine);
      if (const auto format = parser.get()[corewise::orca_request_field]; !format.empty())
        res.set(corewise::orca_field,
                (format == "JSON" ? corewise::orca_json : corewise::orca_text)(all.load->read()));
      keep = parser.get().keep_alive() && (buffer.size() != 0 || !all.ending.stop_requested());
    } else if (why.category() != io::error_code(http::error::bad_method).category()) {
      co_return; // the client has gone, or is too slow
    }
    res.keep_alive(keep);
    res.prepare_payload();
    co_await http::async_write(peer, res, io::use_task.into(why));
    if (why) co_return;
  }
  co_await close_gently(peer);
}

corewise::profile read_profile(const char* file) {
  corewise::profile p = file == nullptr ? corewise::profile() : corewise::load_profile(file);
  p.on_exception = corewise::exception_action::report; // a fault in one request ends that one only
  return p;
}

/// Waits for signals. Returns at SIGTERM or SIGINT.
corewise::task<> obey(corewise::engine& engine, signal_set& signals, const char* file) {
  while (co_await signals.async_wait(io::use_task) == SIGHUP) try {
      const corewise::apply_result result = engine.apply(read_profile(file));
      std::fprintf(stderr, "%s\n", result.applied() ? "reloaded" : result.to_text().c_str());
    } catch (const corewise::profile_error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
}

} // namespace

int main(int argc, char** argv) try {
  const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  const char* const file = argc > 2 ? argv[2] : nullptr;
  server all;
  corewise::engine engine(read_profile(file));
  all.load.emplace(engine, &all.requests);
  io::service service(engine);
  signal_set signals(service.local(), SIGTERM, SIGINT, SIGHUP); // before the first connection comes
  io::listener listener = io::listen(
      service, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port), {.idle = 60s, .write = 30s},
      [&](io::tcp_stream peer) { return serve(std::move(peer), all, engine); });
  std::printf("http://127.0.0.1:%u/\n", listener.port());
  std::fflush(stdout);
  engine.run(obey(engine, signals, file)).get();
  listener.stop(); // what waits in the kernel is accepted
  listener.wait_until_closed();
  all.ending.request_stop();
  const bool clean = engine.shutdown(5s, 10s).clean();
  std::printf("%llu connections, %s\n", static_cast<unsigned long long>(listener.counts().accepted),
              clean ? "all answered" : "some cut off");
  return clean ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "http_server: %s\n", error.what());
  return 1;
}
