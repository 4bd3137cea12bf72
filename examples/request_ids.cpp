// A server whose tasks know for which request they work, and a task that lasts as long as the engine.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task_local.hpp>
#include <corewise/engine/this_task.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>

using namespace std::chrono_literals;

namespace {

corewise::task_local<std::string> user;

/// Knows the request and its user, though no caller passes them on.
std::string log_line(const std::string& what) {
  const std::string* const name = user.get();
  return to_string(corewise::this_task::id()).substr(0, 8) + ' ' + (name != nullptr ? *name : "nobody") +
         ": " + what;
}

corewise::task<std::string> load(std::string what) {
  co_await corewise::yield();
  co_return log_line(what);
}

corewise::task<> serve(std::string name) {
  const corewise::task_local<std::string>::value bound(user, std::move(name));
  const auto lines =
      co_await corewise::when_all(load("the page"), load("the image")); // any workers: both see it
  std::printf("%s\n%s\n", std::get<0>(lines).c_str(), std::get<1>(lines).c_str());
}

/// Tidies up every now and then, until the engine ends.
corewise::task<> tidy(std::stop_token stop, bool& ended) {
  for (bool go_on = true; go_on;) go_on = co_await corewise::sleep_for(10ms, stop);
  ended = true;
}

} // namespace

int main() {
  bool ended = false;
  corewise::engine engine;
  const auto tidying = engine.submit(tidy(engine.stop_token(), ended), {.name = "tidy", .daemon = true});
  const auto id = corewise::parse_trace_id("4bf92f3577b34da6a3ce929d0e0e4736"); // from a traceparent header
  const auto serving = engine.submit(serve("ann"), {.name = "serve", .id = id.value()});
  if (tidying != corewise::submit_result::accepted || serving != tidying) return 1;
  engine.drain(); // does not wait for the daemon
  const bool clean = engine.shutdown(10s).clean();
  std::printf("tidy ended: %s\n", clean && ended ? "yes" : "no");
}
