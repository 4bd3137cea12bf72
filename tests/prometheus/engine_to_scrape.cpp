// An engine for Prometheus, in trouble as its name says: engine_to_scrape NAME [print | openmetrics]. Prints its port
// on the loopback, and serves its metrics there, without help of the engine, until it is killed; or prints them once,
// by worker.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/io/service.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;

namespace {

corewise::profile profile_of(std::string_view trouble) {
  corewise::profile p;
  p.workers.total = 2;
  p.workers.pin = corewise::pin_to::none;
  p.limits.in_flight = trouble == "overloaded" ? 100 : 0;
  p.limits.on_full = corewise::full_action::reject;
  return p;
}

void never_end() {
  for (;;) std::this_thread::sleep_for(1h); // outside `blocking`
}

corewise::task<> day(corewise::engine& e) {
  for (;;) {
    co_await corewise::sleep_for(5ms);
    static_cast<void>(e.submit([] {}));
  }
}

void begin(corewise::engine& e, std::string_view trouble) {
  const auto daily = e.submit(day(e), {.daemon = true});
  if (daily != corewise::submit_result::accepted) std::abort();
  if (trouble == "stalled" || trouble == "wedged") static_cast<void>(e.submit(never_end));
  if (trouble == "wedged") static_cast<void>(e.submit(never_end));
}

/// Takes a millisecond of CPU time: while a quota stops the thread none passes.
void work() {
  const auto used = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto until = used() + 1ms;
  while (used() < until) {
  }
}

/// Does what goes on besides the answers.
void go_on(corewise::engine& e, std::string_view trouble) {
  for (int beats = 0;;) {
    if (trouble == "overloaded")
      static_cast<void>(e.submit([] { std::this_thread::sleep_for(5ms); })); // twice as many as it can run
    else if (trouble == "wedged")
      static_cast<void>(e.submit([] {})); // no worker comes
    else if (trouble == "throttled" && ++beats % 80 == 0)
      for (int i = 0; i < 12; ++i) static_cast<void>(e.submit(work)); // three times the quota of a period
    std::this_thread::sleep_for(1250us);
  }
}

[[noreturn]] void serve(const corewise::engine& e) {
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(listening, address, size) != 0 || ::listen(listening, 8) != 0 ||
      ::getsockname(listening, address, &size) != 0) {
    std::perror("engine_to_scrape");
    std::_Exit(1);
  }
  std::printf("%d\n", ntohs(at.sin_port));
  std::fflush(stdout);
  for (;;) {
    const int peer = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    char asked[4096];
    if (peer < 0) continue;
    static_cast<void>(::recv(peer, asked, sizeof asked, 0));
    const std::string body = e.metrics().to_prometheus();
    const std::string answer =
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    static_cast<void>(::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL));
    ::close(peer);
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view form = argc == 3 ? argv[2] : "";
  const bool prints = form == "print" || form == "openmetrics";
  const std::string_view trouble = argc == 2 || prints ? argv[1] : "";
  bool known = false;
  for (const char* name : {"healthy", "stalled", "wedged", "overloaded", "throttled"})
    known = known || trouble == name;
  if (!known) {
    std::fprintf(
        stderr,
        "usage: engine_to_scrape healthy|stalled|wedged|overloaded|throttled [print | openmetrics]\n");
    return 2;
  }
  corewise::engine e(profile_of(trouble));
  const corewise::io::service io(e); // so the metrics of I/O are there as well
  begin(e, trouble);
  if (prints) {
    std::this_thread::sleep_for(1s);
    const corewise::metrics_snapshot m = e.metrics();
    const auto all = corewise::metrics_detail::workers;
    std::printf("%s", (form == "print" ? m.to_prometheus(all) : m.to_openmetrics(all)).c_str());
    std::fflush(stdout);
    std::_Exit(0);
  }
  std::thread([&] { go_on(e, trouble); }).detach();
  serve(e);
}
