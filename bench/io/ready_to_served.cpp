#include <corewise/engine/yield.hpp>
#include <corewise/io/listen.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

// How long a socket that is ready waits until its coroutine runs, while the workers have other work. And how long a
// task from outside waits while sockets are ready all the time.
//
//     io_ready_to_served WORKLOAD [WORKERS [SAMPLES]]
//
// WORKLOAD: none, yielders (200 that never end), flood (tasks of 100 us from 8 producers), sockets (64 that are always
// ready; then tasks from outside are timed), others (the socket is of one of two groups, whose workers have nothing else to
// do; WORKERS is of each group, and all those of the other one are in a long task, which sleeps).

using namespace corewise;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
namespace asio = corewise::io::asio;

namespace {

std::int64_t now_ns() { return steady::now().time_since_epoch().count(); }

void compute_for(std::chrono::microseconds time) {
  const auto until = steady::now() + time;
  while (steady::now() < until) {
  }
}

void print(std::vector<std::int64_t>& waits) {
  std::ranges::sort(waits);
  const auto at = [&](double share) {
    return static_cast<double>(
               waits[static_cast<std::size_t>(share * static_cast<double>(waits.size() - 1))]) /
           1000;
  };
  std::printf("{\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n", at(.5), at(.99), at(1));
}

/// Notes when each message was sent, and when it is read.
task<> note_waits(io::tcp_stream peer, std::vector<std::int64_t>& waits) {
  for (;;) {
    std::int64_t sent = 0;
    io::error_code why;
    co_await asio::async_read(peer, asio::buffer(&sent, sizeof sent), io::use_task.into(why));
    if (why) co_return;
    waits.push_back(now_ns() - sent);
  }
}

task<> echo(io::tcp_stream peer) {
  char bytes[64];
  io::error_code why;
  while (!why) {
    const std::size_t n = co_await peer.async_read_some(asio::buffer(bytes), io::use_task.into(why));
    if (!why) co_await asio::async_write(peer, asio::buffer(bytes, n), io::use_task.into(why));
  }
}

int connected(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const asio::ip::tcp::endpoint to(asio::ip::address_v4::loopback(), port);
  if (::connect(fd, to.data(), static_cast<socklen_t>(to.size())) != 0) std::abort();
  return fd;
}

/// Tasks of 100 us from 8 threads, each of which has 8 of them queued.
class flood {
 public:
  explicit flood(engine& e) {
    for (int i = 0; i < 8; ++i) threads_.emplace_back([this, &e] { submit(e); });
  }
  flood(const flood&) = delete;
  flood& operator=(const flood&) = delete;
  ~flood() {
    over_ = true;
    for (std::thread& t : threads_) t.join();
  }

 private:
  void submit(engine& e) const {
    std::atomic<int> queued{0};
    while (!over_) {
      if (queued < 8 && e.submit([&] { compute_for(100us), --queued; }) == submit_result::accepted)
        ++queued;
      else
        std::this_thread::sleep_for(50us);
    }
    while (queued > 0) std::this_thread::sleep_for(50us);
  }

  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

task<> yield_until(const std::atomic<bool>& over) {
  while (!over) co_await yield();
}

/// Keeps each worker of a group in a task that takes no CPU, until it is told to end. Returns when all are in theirs.
void hold_all(engine& e, group_id of, const std::atomic<bool>& over) {
  std::atomic<std::uint32_t> held{0};
  const auto hold = [&](const auto& self, worker_id w) -> void {
    const auto act = [&, w] {
      if (*e.this_worker() != w) return self(self, w); // another one has stolen it
      ++held;
      while (!over) std::this_thread::sleep_for(1ms);
    };
    if (e.submit(act, {.worker = w}) != submit_result::accepted) std::abort();
  };
  const auto workers = e.workers().of_group(of);
  for (const auto& w : workers) hold(hold, w.id);
  while (held != workers.size()) std::this_thread::sleep_for(1ms);
}

const asio::ip::tcp::endpoint anywhere(asio::ip::address_v4::loopback(), 0);

/// Times how long what is sent to a socket waits. With `in` the socket is of that group.
void time_socket(io::service& service, int samples, std::vector<std::int64_t>& waits,
                 std::optional<group_id> in = {}) {
  io::listen_options options;
  if (in) options.balance = io::listen_options::balancing::lightest;
  const io::listener server = io::listen(
      service, anywhere, options, [&](io::tcp_stream peer) { return note_waits(std::move(peer), waits); });
  const int fd = connected(server.port());
  while (server.counts().accepted == 0) std::this_thread::sleep_for(1ms);
  if (in && server.counts(*in).accepted == 0) std::abort();
  for (int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(1ms);
    const std::int64_t sent = now_ns();
    if (::send(fd, &sent, sizeof sent, 0) != sizeof sent) std::abort();
  }
  std::this_thread::sleep_for(50ms);
  ::shutdown(fd, SHUT_RDWR);
}

/// A client that sends back what comes, so that its socket at the server is nearly always ready.
void play(int fd, const std::atomic<bool>& over) {
  char bytes[64];
  while (!over) {
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n <= 0 || ::send(fd, bytes, static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) return;
  }
  ::shutdown(fd, SHUT_RDWR);
}

/// Times how long tasks from outside wait while sockets are ready.
void time_tasks(engine& e, io::service& service, int samples, std::vector<std::int64_t>& waits) {
  const io::listener server = io::listen(service, anywhere, {}, echo);
  std::atomic<bool> over{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 64; ++i) {
    const int fd = connected(server.port());
    for (int n = 0; n < 16; ++n)
      if (::send(fd, "x", 1, 0) != 1) std::abort();
    clients.emplace_back([fd, &over] { play(fd, over); });
  }
  for (int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(1ms);
    std::atomic<bool> ran{false};
    const std::int64_t sent = now_ns();
    if (e.submit([&] { waits.push_back(now_ns() - sent), ran = true; }) != submit_result::accepted)
      std::abort();
    while (!ran) std::this_thread::sleep_for(20us);
  }
  over = true;
  for (std::thread& t : clients) t.join();
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view workload = argc > 1 ? argv[1] : "none";
  const int samples = argc > 3 ? std::atoi(argv[3]) : 2000;
  profile p;
  const std::uint32_t workers = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 2;
  const bool has_others = workload == "others";
  if (has_others) {
    p.topology.machine.source = synthetic_source{"pack:2 numa:1 l3:1 core:8 pu:1"};
    p.workers.per_group = workers;
    p.workers.pin = pin_to::none;
  } else {
    p.workers.total = workers;
  }
  std::vector<std::int64_t> waits;
  waits.reserve(static_cast<std::size_t>(samples));
  std::atomic<bool> over{false};
  engine e(p);
  io::service service(e);
  if (workload == "yielders")
    for (int i = 0; i < 200; ++i) static_cast<void>(e.submit(yield_until(over)));
  if (has_others) hold_all(e, group_id{1}, over);
  {
    std::optional<flood> tasks;
    if (workload == "flood") tasks.emplace(e);
    if (workload == "sockets")
      time_tasks(e, service, samples, waits);
    else
      time_socket(service, samples, waits, has_others ? std::optional(group_id{0}) : std::nullopt);
  }
  over = true;
  e.shutdown(5s);
  print(waits);
}
