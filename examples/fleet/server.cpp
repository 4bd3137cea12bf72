// One of several servers behind HAProxy, which asks it for its load. It works on LIMIT requests at once, for
// MILLISECONDS each on average: server PORT AGENT_PORT MILLISECONDS LIMIT
#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/request_meter.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/io/listen.hpp>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace asio = corewise::io::asio;
namespace http = boost::beast::http;
namespace io = corewise::io;
using namespace std::chrono_literals;

namespace {

struct shop {
  std::chrono::duration<double> mean;
  corewise::semaphore places; ///< for the requests that are worked on
  corewise::request_meter requests;
  std::stop_source ending{};
};

corewise::task<> work(shop& in) {
  thread_local std::mt19937 random{std::random_device()()};
  const auto time = in.mean * std::exponential_distribution<>(1)(random);
  co_await in.places.acquire();
  co_await corewise::sleep_for(std::chrono::duration_cast<std::chrono::nanoseconds>(time));
  in.places.release();
}

corewise::task<> serve(io::tcp_stream peer, shop& in) {
  boost::beast::flat_buffer buffer(16'384);
  io::error_code why;
  for (bool keep = true; keep && !why;) {
    http::request<http::empty_body> asked;
    const auto idle = io::use_task(in.ending.get_token()).within(60s).into(why);
    co_await http::async_read(peer, buffer, asked, idle);
    if (why) co_return;
    const auto here = in.requests.begin();
    if (asked.target() == "/") co_await work(in); // not for HAProxy's checks
    keep = asked.keep_alive() && !in.ending.stop_requested();
    http::response<http::string_body> res(http::status::ok, 11, "done\n");
    res.keep_alive(keep);
    res.prepare_payload();
    co_await http::async_write(peer, res, io::use_task.within(30s).into(why));
  }
}

corewise::task<> wait_for_stop(io::service& service) {
  asio::basic_signal_set<io::executor> stop(service.local(), SIGTERM);
  static_cast<void>(co_await stop.async_wait(io::use_task));
}

} // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::invalid_argument("usage: server PORT AGENT_PORT MILLISECONDS LIMIT");
  const auto number = [&](int i) { return static_cast<std::uint16_t>(std::atoi(argv[i])); };
  shop in{number(3) * 1ms, corewise::semaphore(number(4)), corewise::request_meter(number(4))};
  corewise::engine engine;
  io::service service(engine);
  io::listener listener =
      io::listen(service, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), number(1)), {},
                 [&](io::tcp_stream peer) { return serve(std::move(peer), in); });
  corewise::admin::options options;
  options.agent = std::string("127.0.0.1:") + argv[2];
  options.requests = &in.requests;
  corewise::admin::server admin(engine, options);
  std::printf("%u %u\n", listener.port(), admin.agent_port());
  std::fflush(stdout);
  engine.run(wait_for_stop(service)).get();
  admin.start_draining();
  std::this_thread::sleep_for(3s); // HAProxy asks twice meanwhile, and sends nothing more
  listener.stop();
  listener.wait_until_closed();
  in.ending.request_stop();
  return engine.shutdown(5s, 10s).clean() ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
