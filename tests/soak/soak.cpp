// Everything at once, for as long as it is told: sockets, timers, tasks of all sorts, blocking calls, forks, reloads, a
// machine that changes, other daemons that come and go, a want of descriptors, a process that is stopped. Nothing may be lost, and memory, threads and
// descriptors must stay as they are. `soak SECONDS [SEED]`.

#include "affinity.hpp"
#include "control_group.hpp"
#include "usage.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/io/listen.hpp>
#include <corewise/topology/binding.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

namespace asio = io::asio;
using tests::entries_in, tests::median, tests::usage, tests::used_now;

int failures = 0;

void check(bool holds, const std::string& what) {
  std::printf("%s %s\n", holds ? "ok" : "FAILED", what.c_str());
  failures += holds ? 0 : 1;
}

/// What was begun, and what has become of it.
struct books {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> ran{0}; ///< to the end, or to an exception
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> answers{0};
  std::atomic<std::uint64_t> broken{0}; ///< connections for which there was no descriptor
  std::atomic<std::uint64_t> beats{0};
};

// --- what runs in the engine

task<> echo(io::tcp_stream peer) {
  char bytes[512];
  io::error_code why;
  for (;;) {
    const std::size_t n =
        co_await peer.async_read_some(asio::buffer(bytes), io::use_task.within(5s).into(why));
    if (why) co_return;
    co_await asio::async_write(peer, asio::buffer(bytes, n), io::use_task.into(why));
  }
}

task<> talk(io::service& io, std::uint16_t port, books& b, const std::atomic<bool>& over) {
  const asio::ip::tcp::endpoint server(asio::ip::address_v4::loopback(), port);
  while (!over) {
    try {
      std::string word = "a word of some length";
      io::tcp_stream peer(io.local());
      co_await peer.async_connect(server, io::use_task.within(5s));
      for (int i = 0; i < 20; ++i) {
        co_await asio::async_write(peer, asio::buffer(word), io::use_task.within(5s));
        co_await asio::async_read(peer, asio::buffer(word), io::use_task.within(5s));
        ++b.answers;
      }
    } catch (const std::exception&) {
      ++b.broken;
    }
    co_await sleep_for(1ms);
  }
}

task<> sleep_now_and_then(std::uint32_t seed, const std::atomic<bool>& over) {
  std::minstd_rand random(seed);
  while (!over) {
    co_await in_scope([&](scope& s) -> task<> {
      for (int i = 0; i < 20; ++i)
        s.fork([](std::stop_token token, std::chrono::microseconds time) -> task<> {
          co_await sleep_for(time, token);
        }(s.stop_token(), std::chrono::microseconds{random() % 5000}));
      co_await sleep_for(std::chrono::microseconds{random() % 3000});
      s.request_stop();
    });
  }
}

void spin(std::chrono::microseconds time) {
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
  }
}

/// Submits tasks of all sorts.
class task_maker {
 public:
  task_maker(engine& e, books& b) : e_(e), b_(b) {}

  void some(std::minstd_rand& random) {
    for (int i = 0; i < 100; ++i) one(static_cast<std::uint32_t>(random() % 100));
  }

 private:
  void one(std::uint32_t sort) {
    if (sort < 70) return count(e_.submit([this] { spin(2us), ++b_.ran; }));
    if (sort < 75)
      return count(e_.submit([this] { blocking([] { std::this_thread::sleep_for(500us); }), ++b_.ran; }));
    if (sort < 80)
      return count(e_.submit([this] { ++b_.ran; },
                             {.deadline = steady_clock::now() + (sort < 78 ? 20us : 1'000'000us)},
                             [this] { ++b_.expired; }));
    if (sort < 85) return count(e_.submit([this] { ++b_.ran, throw std::runtime_error("as it should"); }));
    if (sort < 92)
      return count(e_.submit([](books& b) -> task<> {
        std::atomic<int> sum{0};
        co_await parallel_for(0, 100, [&](int i) { sum += i; });
        b.ran += sum == 4950 ? 1 : 0;
      }(b_)));
    const task_class which = sort % 2 == 0 ? task_class::latency : task_class::background;
    count(e_.submit([this] { spin(5us), ++b_.ran; }, {.run_as = which}));
  }
  void count(submit_result in) { ++(in == submit_result::accepted ? b_.accepted : b_.refused); }

  engine& e_;
  books& b_;
};

// --- what is done to the process

/// Makes a child that shares the machine for a while, with an engine of its own. Returns whether it did its work.
bool child_works(const profile& p) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    int got = 0;
    {
      engine own(p);
      got = own.run([]() -> task<int> { co_return co_await sleep_for(50ms), 7; }()).get();
    }
    std::_Exit(got == 7 ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Lets a child stop all threads of this process for that long.
void be_stopped_for(std::chrono::milliseconds time) {
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::kill(self, SIGSTOP);
    ::usleep(static_cast<useconds_t>(std::chrono::microseconds(time).count()));
    ::kill(self, SIGCONT);
    ::_exit(0);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

void want_descriptors_for(std::chrono::milliseconds time) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(entries_in("/proc/self/fd"));
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::this_thread::sleep_for(time);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

profile first_profile(const std::string& shares) {
  profile p;
  p.name = "soak";
  p.on_exception = exception_action::report;
  p.topology.follow = {follow_setting::mode::fixed, 200ms};
  p.limits.in_flight = 5000;
  p.workers.headroom = 2;
  p.blocking.keep_alive = 500ms;
  p.sharing.file = shares;
  return p;
}

/// Does what operators and machines do, a second apart.
class disturber {
 public:
  disturber(engine& e, profile p, unsigned seed)
      : e_(e),
        p_(std::move(p)),
        random_(seed),
        all_(this_thread_affinity()) {
    if (group_.why_not().empty() && group_.quota(-1) && group_.enter())
      has_quota_ = true;
    else
      std::printf("no quota is set: %s\n",
                  group_.why_not().empty() ? "the kernel refuses" : group_.why_not().c_str());
    std::fflush(stdout);
  }
  disturber(const disturber&) = delete;
  disturber& operator=(const disturber&) = delete;
  ~disturber() {
    if (has_quota_) static_cast<void>(group_.leave());
  }

  void once(int second) {
    p_.workers.per_group.reset(); // as many as the host allows
    if (second % 6 < 2) p_.workers.per_group = 1;
    for (int i = 0; i < 5; ++i) {
      p_.queues.lifo_cap = random_() % 4;
      p_.steal.policy = i % 2 == 0 ? "nearest_half" : "random_half";
      p_.sharing.weight = static_cast<std::uint32_t>(100 + random_() % 100);
      want(e_.apply(p_).applied(), "a profile is applied");
    }
    static_cast<void>(e_.metrics());
    static_cast<void>(e_.dump());
    static_cast<void>(e_.health());
    if (second % 3 == 0) trace();
    if (second % 4 == 0) {
      cpu_set one;
      one.insert(all_.first());
      tests::set_affinity_of_all_threads(one);
      std::this_thread::sleep_for(300ms);
      tests::set_affinity_of_all_threads(all_);
      static_cast<void>(e_.refresh());
    }
    if (has_quota_ && second % 6 == 3) {
      want(group_.quota(.5), "a quota is set");
      std::this_thread::sleep_for(300ms);
      static_cast<void>(e_.refresh());
      if (e_.metrics().last_machine_change.find("quota 0.5 CPUs") != std::string::npos) ++quotas_seen_;
      want(group_.quota(-1), "a quota is lifted");
      static_cast<void>(e_.refresh());
    }
    if (second % 9 == 0) be_stopped_for(200ms);
    if (second % 2 == 0) want(child_works(p_), "a child does its work");
    if (second % 5 == 0) want_descriptors_for(50ms);
    if (second % 7 == 0) static_cast<void>(e_.submit([] { spin(150ms); })); // a stuck task
  }
  int wrong() const { return wrong_; }
  bool saw_quotas() const { return !has_quota_ || quotas_seen_ > 0; }

 private:
  /// On a busy machine the process may get no CPU in this time.
  void trace() {
    constexpr std::uint64_t before_it_begins = 50;
    const std::uint64_t before = e_.metrics().total().executed;
    const bool empty = e_.trace(20ms).events.empty();
    want(!empty || e_.metrics().total().executed - before <= before_it_begins, "a trace has events");
  }
  void want(bool holds, const char* what) {
    if (holds) return;
    ++wrong_;
    std::printf("not so: %s\n", what);
    std::fflush(stdout);
  }

  engine& e_;
  profile p_;
  std::minstd_rand random_;
  const cpu_set all_;
  const tests::control_group group_{"cpu"}; // of which the process is a member
  bool has_quota_ = false;
  int quotas_seen_ = 0;
  int wrong_ = 0;
};

/// Compares the beginning, when all has been used once, with the end.
void check_flat(const std::vector<usage>& seen) {
  const auto part = static_cast<std::ptrdiff_t>(seen.size() / 5);
  if (part == 0) return check(false, "soak: too few seconds were looked at");
  const std::vector<usage> early(seen.begin() + part, seen.begin() + 2 * part);
  const std::vector<usage> late(seen.end() - part, seen.end());
  struct {
    const char* name;
    double usage::* what;
    double margin;
  } const figures[] = {{"MB resident", &usage::megabytes, 2},
                       {"threads", &usage::threads, 4},
                       {"descriptors", &usage::descriptors, 8}};
  for (const auto& f : figures) {
    const double from = median(early, f.what);
    const double to = median(late, f.what);
    char text[128];
    std::snprintf(text, sizeof text, "soak: %s stay: %.1f, at the end %.1f", f.name, from, to);
    check(to <= from * 1.05 + f.margin, text);
  }
}

} // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 60;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : std::random_device()();
  std::printf("soak: %d s, seed %u\n", seconds, seed);
  std::fflush(stdout); // children must not write it again
  if (seconds < 10) {
    std::fprintf(stderr, "soak SECONDS [SEED]: 10 or more\n");
    return 2;
  }
  const std::string shares = "/tmp/corewise_soak." + std::to_string(::getpid());
  const profile p = first_profile(shares);
  books b;
  std::atomic<bool> over{false};
  std::vector<usage> seen;
  {
    engine e(p);
    io::service io(e);
    io::listener server = io::listen(io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0),
                                     {.most_connections = 100}, echo);
    timer beats = e.every(2ms, [&] { ++b.beats; });
    std::vector<future<void>> running;
    for (int i = 0; i < 8; ++i) running.push_back(e.run(talk(io, server.port(), b, over)));
    for (std::uint32_t i = 0; i < 4; ++i) running.push_back(e.run(sleep_now_and_then(seed + i, over)));
    task_maker tasks(e, b); // some of its tasks run after the thread has ended
    std::thread maker([&] {
      for (std::minstd_rand random(seed); !over; std::this_thread::sleep_for(5ms)) tasks.some(random);
    });
    disturber host(e, p, seed);
    std::uint64_t lost = 0;
    const auto end = steady_clock::now() + std::chrono::seconds{seconds};
    for (int second = 1; steady_clock::now() < end; ++second) {
      const auto next = steady_clock::now() + 1s;
      host.once(second);
      std::this_thread::sleep_until(next);
      seen.push_back(used_now());
      if (const std::uint64_t rescued = e.metrics().total().rescued_by_timeout; rescued != lost) {
        lost = rescued;
        std::printf("%d s: %s wake-ups were lost\n", second, std::to_string(lost).c_str());
      }
      if (second % 60 == 0) {
        std::printf("%d s: %s tasks, %s answers, %.1f MB\n", second,
                    std::to_string(b.ran + b.expired).c_str(), std::to_string(b.answers).c_str(),
                    seen.back().megabytes);
        std::fflush(stdout);
      }
    }
    over = true;
    maker.join();
    for (future<void>& f : running) f.get();
    beats.cancel();
    server.stop();
    server.wait_until_closed();
    e.drain();
    check(host.wrong() == 0, "soak: each profile was applied, each trace was taken, each child did its work");
    check(e.metrics().in_flight() == 0 && server.counts().open == 0, "soak: nothing is left");
    check(e.metrics().machine_changes > 0 && host.saw_quotas(),
          "soak: the machine changed, and the engine followed");
    check(e.metrics().total().rescued_by_timeout == 0, "soak: no wake-up was lost");
    check(e.shutdown(10s).clean(), "soak: the engine ended with nothing left");
  }
  std::filesystem::remove(shares);
  check(b.accepted == b.ran + b.expired,
        "soak: " + std::to_string(b.accepted) + " tasks accepted, each ran or expired once");
  check(b.answers > 0 && b.beats > 0 && b.expired > 0, "soak: " + std::to_string(b.answers) + " answers, " +
                                                           std::to_string(b.broken) +
                                                           " connections broken off");
  check_flat(seen);
  return failures == 0 ? 0 : 1;
}
