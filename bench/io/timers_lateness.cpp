#include <corewise/engine/sleep.hpp>
#include <corewise/io/listen.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

// How late coroutines go on that sleep for random times of 1 to 20 ms, on workers that do nothing else: they sleep on their
// futexes, or one of them in the driver of a service, where a connection waits.
//
//     io_timers_lateness futex|driver [WORKERS [SECONDS [SLEEPERS]]]      2 workers, 2 seconds, 20 sleepers

using namespace corewise;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace asio = corewise::io::asio;

namespace {

/// Notes in ns how late each of its sleeps ends.
task<> sleep_often(unsigned seed, const std::atomic<bool>& over, std::vector<std::int64_t>& late) {
  std::mt19937_64 random(seed);
  while (!over) {
    const auto due = steady::now() + std::chrono::nanoseconds(1'000'000 + random() % 19'000'000);
    co_await sleep_until(due);
    late.push_back((steady::now() - due).count());
  }
}

/// A service with a connection on which nothing comes.
class waiting_connection {
 public:
  explicit waiting_connection(engine& e)
      : service_(e),
        server_(io::listen(service_, anywhere, {},
                           [this](io::tcp_stream peer) { return read(std::move(peer)); })),
        client_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const asio::ip::tcp::endpoint to(asio::ip::address_v4::loopback(), server_.port());
    if (::connect(client_, to.data(), static_cast<socklen_t>(to.size())) != 0) std::abort();
    while (!reads_) std::this_thread::sleep_for(1ms);
  }
  waiting_connection(const waiting_connection&) = delete;
  waiting_connection& operator=(const waiting_connection&) = delete;
  ~waiting_connection() { ::shutdown(client_, SHUT_RDWR); }

 private:
  static inline const asio::ip::tcp::endpoint anywhere{asio::ip::address_v4::loopback(), 0};

  task<> read(io::tcp_stream peer) {
    char bytes[64];
    io::error_code why;
    reads_ = true;
    co_await peer.async_read_some(asio::buffer(bytes), io::use_task.into(why));
  }

  std::atomic<bool> reads_{false};
  io::service service_;
  io::listener server_;
  int client_;
};

} // namespace

int main(int argc, char** argv) {
  const std::string_view bed = argc > 1 ? argv[1] : "futex";
  if (bed != "futex" && bed != "driver") {
    std::fputs("usage: io_timers_lateness futex|driver [WORKERS [SECONDS [SLEEPERS]]]\n", stderr);
    return 2;
  }
  const std::chrono::seconds time(argc > 3 ? std::atoi(argv[3]) : 2);
  profile p;
  p.workers.total = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 2;
  std::vector<std::vector<std::int64_t>> late(argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 20);
  std::atomic<bool> over{false};
  engine e(p);
  std::optional<waiting_connection> connection;
  if (bed == "driver") connection.emplace(e);
  std::vector<future<void>> sleepers;
  for (unsigned i = 0; i < late.size(); ++i) sleepers.push_back(e.run(sleep_often(i, over, late[i])));
  std::this_thread::sleep_for(time);
  over = true;
  for (future<void>& f : sleepers) f.get();
  std::vector<std::int64_t> all;
  for (const auto& some : late) all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all);
  const auto at = [&](double share) {
    return static_cast<double>(all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))]) /
           1000;
  };
  std::printf("{\"samples\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f}\n", all.size(),
              at(.5), at(.99), at(.999));
}
