// The cost of waiting, and of not having to wait: nanoseconds for each operation, on one worker; median,
// least and most of 15 runs.
//
//   primitives_cost [OPERATIONS] [WHICH]     a million, and all
//
// *Alone*: one coroutine that never has to wait. *Round trip*: two coroutines hand the turn to each other and
// back. *Value*: one sends, one receives, by a channel with so much room. Beside them `std::mutex`, locked
// and unlocked by the same thread.

#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace corewise;

namespace {

task<> semaphore_alone(std::size_t n) {
  semaphore s(1);
  for (std::size_t i = 0; i < n; ++i) {
    co_await s.acquire();
    s.release();
  }
}

task<> mutex_alone(std::size_t n) {
  mutex m;
  for (std::size_t i = 0; i < n; ++i) const mutex_guard lock = co_await m.lock();
}

task<> thread_mutex_alone(std::size_t n) {
  std::mutex m;
  for (std::size_t i = 0; i < n; ++i) {
    const std::scoped_lock lock(m);
    asm volatile("" ::: "memory");
  }
  co_return;
}

task<> channel_alone(std::size_t n) {
  channel<std::size_t> c(1);
  for (std::size_t i = 0; i < n; ++i) {
    co_await c.send(std::size_t{i});
    const std::optional<std::size_t> value = co_await c.receive();
    if (value != i) std::abort();
  }
}

task<> event_alone(std::size_t n) {
  event e(true);
  for (std::size_t i = 0; i < n; ++i) co_await e.wait();
}

task<> turns(auto_reset_event& mine, auto_reset_event& theirs, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    co_await mine.wait();
    theirs.set();
  }
}

task<> event_round_trip(std::size_t n) {
  auto_reset_event ping;
  auto_reset_event pong;
  co_await in_scope([&](scope& s) -> task<> {
    s.fork(turns(ping, pong, n));
    s.fork(turns(pong, ping, n));
    ping.set();
    co_return;
  });
}

task<> send_all(channel<std::size_t>& to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) co_await to.send(std::size_t{i});
}

task<> receive_all(channel<std::size_t>& from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::optional<std::size_t> value = co_await from.receive();
    if (value != i) std::abort();
  }
}

template <std::size_t Room> task<> channel_value(std::size_t n) {
  channel<std::size_t> c(Room);
  co_await in_scope([&](scope& s) -> task<> {
    s.fork(receive_all(c, n));
    s.fork(send_all(c, n));
    co_return;
  });
}

struct measured {
  const char* name;
  task<> (*run)(std::size_t);
};

constexpr measured all[] = {
    {"semaphore: acquire and release, alone", semaphore_alone},
    {"mutex: lock and unlock, alone", mutex_alone},
    {"std::mutex: lock and unlock, alone", thread_mutex_alone},
    {"event: wait for one that is set", event_alone},
    {"channel: send and receive, alone", channel_alone},
    {"auto_reset_event: round trip", event_round_trip},
    {"channel without room: value", channel_value<0>},
    {"channel with room for 1: value", channel_value<1>},
    {"channel with room for 64: value", channel_value<64>},
};

void measure(engine& e, const measured& m, std::size_t operations) {
  std::array<double, 15> ns{};
  sync_wait(e, m.run(operations / 10 + 1));
  for (double& each : ns) {
    const auto begin = std::chrono::steady_clock::now();
    sync_wait(e, m.run(operations));
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    each = took.count() / static_cast<double>(operations);
  }
  std::ranges::sort(ns);
  std::printf("%-40s %7.1f ns   %7.1f to %7.1f\n", m.name, ns[ns.size() / 2], ns.front(), ns.back());
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t operations = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
  profile p;
  p.workers.total = 1;
  engine e(p);
  for (const measured& m : all)
    if (argc < 3 || std::strncmp(m.name, argv[2], std::strlen(argv[2])) == 0) measure(e, m, operations);
}
