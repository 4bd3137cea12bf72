// Sockets of an engine to which the kernel refuses what they need: an error says so, nothing hangs, and tasks go on.

#include "refused_call.hpp"
#include "sockets.hpp"

#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/io/connect.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <string>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Returns the answer to a word, or nothing where there was an error.
task<std::string> ask(io::service& io, std::uint16_t port) {
  std::string word = "hello";
  try {
    io::tcp_stream peer(io.local());
    co_await peer.async_connect(on_loopback(port), io::use_task.within(2s));
    co_await asio::async_write(peer, asio::buffer(word), io::use_task.within(2s));
    co_await asio::async_read(peer, asio::buffer(word), io::use_task.within(2s));
  } catch (const io::system_error&) {
    word.clear();
  }
  co_return word;
}

/// Makes a service, and lets a client ask a server. `fails`: whether that cannot work. Returns a sum of powers of two, one
/// for each thing that went wrong.
int used(bool fails) {
  engine e(served_engine::profile_of(2));
  std::string answer;
  try {
    io::service io(e);
    io::listener server = io::listen(io, on_loopback(), {}, echo);
    answer = e.run(ask(io, server.port())).get();
    server.stop();
    server.wait_until_closed();
  } catch (const io::system_error&) {
    answer.clear();
  }
  const int seven = e.run([] { return 7; }).get();
  const bool clean = e.shutdown(10s).running.empty();
  return int{seven != 7} + 2 * int{!clean} + 4 * int{!answer.empty() && answer != "hello"} +
         8 * int{fails && !answer.empty()};
}

/// Work of every sort on an engine that serves sockets, until it is told to end.
class busy_server {
 public:
  explicit busy_server(std::uint32_t workers)
      : on_(workers),
        server_(io::listen(on_.io, on_loopback(), {}, echo)) {
    for (int i = 0; i < 4; ++i) begin(client());
    begin(sleeper());
    begin(worker());
    connected_ = within(10s, [&] { return goes_on(); });
  }

  bool connected() const { return connected_; }
  std::string answer() { return on_.engine.run(ask(on_.io, server_.port())).get(); }
  /// Returns whether clients get answers, timers ring and tasks run.
  bool goes_on() {
    const auto before = counts();
    return within(10s, [&] { return std::ranges::equal(before, counts(), std::ranges::less{}); });
  }
  /// Ends the work. Returns whether all of it has ended, and no client has seen an error.
  bool ends() {
    over_ = true;
    return within(10s, [&] { return ended_ == begun_; }) && errors_ == 0;
  }
  /// Call when the work has ended. Returns whether tasks and timers run that come while all workers sleep.
  bool wakes() {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(5ms);
      std::atomic<int> ran{0};
      static_cast<void>(on_.engine.submit([&] { ++ran; }));
      static_cast<void>(on_.engine.submit([](std::atomic<int>& done) -> task<> {
        co_await sleep_for(20ms);
        ++done;
      }(ran)));
      if (!within(5s, [&] { return ran == 2; })) std::_Exit(100); // they would use what goes now
    }
    return true;
  }
  /// Returns whether timers ring and tasks run, whatever sockets do.
  bool runs_tasks() {
    const std::uint64_t rings = rings_;
    const std::uint64_t tasks = tasks_;
    return within(10s, [&] { return rings_ > rings + 10 && tasks_ > tasks + 10; });
  }
  /// Keeps a worker awake, so that the engine looks at its host.
  void keep_awake() { begin(restless()); }
  void end_work() { over_ = true; }
  /// Returns whether the engine has said once that the kernel refuses what sockets need.
  bool says_so() {
    const auto of_this = [](const std::string& w) {
      return w.starts_with("the kernel refuses a call by which");
    };
    return within(10s, [&] { return std::ranges::count_if(on_.engine.warnings(), of_this) == 1; });
  }
  bool shuts_down() {
    server_.stop();
    return on_.engine.shutdown(10s).running.empty();
  }

 private:
  std::vector<std::uint64_t> counts() const { return {answers_, rings_, tasks_}; }
  void begin(task<> t) { begun_ += on_.engine.submit(std::move(t)) == submit_result::accepted ? 1 : 0; }
  task<> client() {
    try {
      io::tcp_stream peer(on_.io.local());
      co_await peer.async_connect(on_loopback(server_.port()), io::use_task);
      for (char byte = 'x'; !over_; ++answers_) {
        co_await asio::async_write(peer, asio::buffer(&byte, 1), io::use_task);
        co_await asio::async_read(peer, asio::buffer(&byte, 1), io::use_task);
      }
    } catch (const io::system_error&) {
      ++errors_;
    }
    ++ended_;
  }
  task<> sleeper() {
    for (; !over_; ++rings_) co_await sleep_for(1ms);
    ++ended_;
  }
  task<> restless() {
    while (!over_) co_await yield();
    ++ended_;
  }
  task<> worker() {
    for (; !over_; co_await sleep_for(100us)) static_cast<void>(on_.engine.submit([this] { ++tasks_; }));
    ++ended_;
  }

  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<std::uint64_t> rings_{0};
  std::atomic<std::uint64_t> tasks_{0};
  std::atomic<int> errors_{0};
  std::atomic<int> ended_{0};
  int begun_ = 0;
  bool connected_ = false;
  served_engine on_;
  io::listener server_;
};

/// Has that call refused to a server under load. Returns a sum of powers of two, one for each thing that went wrong.
int refused_to_a_server(long number, std::uint32_t workers) {
  busy_server server(workers);
  if (!server.connected() || !tests::refuse_call(number)) return tests::cannot_tell;
  const bool goes_on = server.goes_on();
  const std::string answer = server.answer(); // a new connection, which may fail
  const bool still = server.goes_on();
  const bool waits_need_it = number == SYS_timerfd_settime;
  if (waits_need_it) std::this_thread::sleep_for(1500ms); // the engine looks once a second
  const bool ends = server.ends();
  const bool says_so = !waits_need_it || server.says_so();
  return int{!goes_on} + 2 * int{!answer.empty() && answer != "hello"} + 4 * int{!still} + 8 * int{!says_so} +
         16 * int{!ends} + 32 * int{!server.wakes()} + 64 * int{!server.shuts_down()};
}

std::chrono::nanoseconds cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// Has a call refused without which sockets do not go on. Returns such a sum.
int refused_waits(long number, std::uint32_t workers) {
  busy_server server(workers);
  server.keep_awake();
  if (!server.connected() || !tests::refuse_call(number)) return tests::cannot_tell;
  const bool runs = server.runs_tasks();
  std::this_thread::sleep_for(1500ms); // the engine looks once a second
  server.end_work();
  const bool says_so = server.says_so(); // a worker does when it has nothing to do
  std::this_thread::sleep_for(100ms);
  const auto before = cpu_time();
  std::this_thread::sleep_for(500ms);
  const bool spins = cpu_time() - before > 250ms;
  return int{!runs} + 2 * int{!says_so} + 4 * int{spins} + 8 * int{!server.wakes()} +
         16 * int{!server.shuts_down()};
}

/// Has a call refused when all workers have rested for that long. Returns such a sum.
int refused_at_rest(long number, std::chrono::milliseconds rest) {
  busy_server server(1);
  if (!server.connected() || !server.ends()) return tests::cannot_tell;
  std::this_thread::sleep_for(rest);
  if (!tests::refuse_call(number)) return tests::cannot_tell;
  return int{!server.wakes()} + 2 * int{!server.shuts_down()};
}

} // namespace

TEST_CASE(
    "io: what the kernel refuses to a server under load breaks no connection, and nothing waits for ever") {
  struct call {
    std::string name;
    long number;
  };
  for (const call& c :
       {call{"epoll_create1", SYS_epoll_create1}, call{"eventfd2", SYS_eventfd2},
        call{"timerfd_create", SYS_timerfd_create}, call{"timerfd_settime", SYS_timerfd_settime},
        call{"socket", SYS_socket}, call{"accept4", SYS_accept4}, call{"connect", SYS_connect}})
    for (const std::uint32_t workers : {1U, 2U}) {
      CAPTURE(c.name);
      CAPTURE(workers);
      CHECK(tests::wrong_in_child([&] { return refused_to_a_server(c.number, workers); }) == 0);
    }
}

TEST_CASE("io: what the kernel refuses to a service, a listener or a client is an error, and nothing hangs") {
  struct call {
    std::string name;
    long number;
    bool fails; // without it
  };
  const call calls[] = {{"epoll_create1", SYS_epoll_create1, true},
                        {"eventfd2", SYS_eventfd2, false}, // Asio takes a pipe
                        {"timerfd_create", SYS_timerfd_create, true},
                        {"timerfd_settime", SYS_timerfd_settime, true},
                        {"epoll_ctl", SYS_epoll_ctl, true},
                        {"socket", SYS_socket, true},
                        {"bind", SYS_bind, true},
                        {"listen", SYS_listen, true},
                        {"accept4", SYS_accept4, true},
                        {"connect", SYS_connect, true},
                        {"setsockopt", SYS_setsockopt, false},
                        {"getsockname", SYS_getsockname, false}};
  for (const call& c : calls) {
    CAPTURE(c.name);
    CHECK(tests::wrong_without(c.number, {}, [&] { return used(c.fails); }) == 0);
  }
}

TEST_CASE("io: where the kernel refuses to wait for events tasks and timers go on, no thread spins, and one "
          "line says so") {
#ifdef SYS_epoll_wait
  const long waits = SYS_epoll_wait;
#else
  const long waits = SYS_epoll_pwait;
#endif
  for (const long number : {long{SYS_epoll_ctl}, waits})
    for (const std::uint32_t workers : {1U, 2U}) {
      CAPTURE(number);
      CAPTURE(workers);
      CHECK(tests::wrong_in_child([&] { return refused_waits(number, workers); }) == 0);
    }
}

TEST_CASE("io: what the kernel refuses while all workers rest keeps no task and no timer from them") {
  // The engine looks at its host no more; and it has just looked.
  CHECK(tests::wrong_in_child([] { return refused_at_rest(SYS_epoll_ctl, 2500ms); }) == 0);
  CHECK(tests::wrong_in_child([] { return refused_at_rest(SYS_timerfd_settime, 50ms); }) == 0);
}
