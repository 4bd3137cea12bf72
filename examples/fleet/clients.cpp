// Sends requests to a server, at random times, however long the earlier ones take, and says how long they took:
// clients PORT REQUESTS_A_SECOND SECONDS
#include <corewise/engine/engine.hpp>
#include <corewise/io/connect.hpp>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace asio = corewise::io::asio;
namespace http = boost::beast::http;
namespace io = corewise::io;
using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

struct results {
  void add(std::chrono::duration<double, std::milli> time, bool good) {
    const std::scoped_lock lock(mutex);
    milliseconds.push_back(time.count());
    errors += good ? 0 : 1;
  }
  double quantile(double q) {
    if (milliseconds.empty()) return 0;
    const auto at =
        milliseconds.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(milliseconds.size() - 1));
    std::nth_element(milliseconds.begin(), at, milliseconds.end());
    return *at;
  }
  std::mutex mutex;
  std::vector<double> milliseconds;
  int errors = 0;
};

corewise::task<> ask(io::connection_pool& pool, results& all, clock_type::time_point due) {
  bool good = false;
  try {
    io::tcp_stream peer = co_await pool.take(5s);
    http::request<http::empty_body> request(http::verb::get, "/", 11);
    request.set(http::field::host, "fleet");
    co_await http::async_write(peer, request, io::use_task.within(5s));
    boost::beast::flat_buffer buffer;
    http::response<http::string_body> response;
    co_await http::async_read(peer, buffer, response, io::use_task.within(30s));
    good = response.result() == http::status::ok;
    if (response.keep_alive()) pool.give_back(std::move(peer));
  } catch (const boost::system::system_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  all.add(clock_type::now() - due, good);
}

} // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument("usage: clients PORT REQUESTS_A_SECOND SECONDS");
  const asio::ip::tcp::endpoint peer(asio::ip::address_v4::loopback(),
                                     static_cast<std::uint16_t>(std::atoi(argv[1])));
  results all;
  corewise::engine engine;
  io::service service(engine);
  io::connection_pool pool(service, peer, 1000);
  std::mt19937 random(1);
  std::exponential_distribution<> gap(std::atof(argv[2]));
  const clock_type::time_point end = clock_type::now() + std::chrono::seconds{std::atoi(argv[3])};
  for (auto due = clock_type::now(); due < end;
       due += std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(gap(random)))) {
    std::this_thread::sleep_until(due);
    static_cast<void>(engine.submit(ask(pool, all, due)));
  }
  engine.drain();
  std::printf("%zu requests, %d errors, p50 %.0f ms, p99 %.0f ms\n", all.milliseconds.size(), all.errors,
              all.quantile(.5), all.quantile(.99));
  return all.errors == 0 ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 2;
}
