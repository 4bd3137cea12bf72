// A coroutine can wait for another coroutine, for a value from elsewhere, for the first of several, for its
// turn.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/when_any.hpp>
#include <corewise/engine/yield.hpp>

#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using corewise::task;

namespace {

task<int> length(std::string text) { co_return static_cast<int>(text.size()); }

/// Begins when it is awaited, on the worker that awaits it. An exception comes out of the await.
task<int> total() {
  int sum = 0;
  for (const char* word : {"one", "three", "five"}) {
    sum += co_await length(word);
    co_await corewise::yield(); // others may run first
  }
  co_return sum;
}

/// A value from another thread, such as a library's callback. The coroutine waits, its worker does not.
task<std::string> answer() {
  auto [sender, reply] = corewise::make_oneshot<std::string>();
  const std::jthread library([s = std::move(sender)]() mutable { s.send("from another thread"); });
  co_return co_await reply.receive();
}

/// The first of several counts. It tells the others to stop, and they have ended when it returns.
task<std::string> quicker() {
  const auto primary = [](std::stop_token stop) -> task<std::string> {
    co_await corewise::sleep_for(24h, std::move(stop));
    co_return "primary";
  };
  const auto replica = [](std::stop_token) -> task<std::string> { co_return "replica"; };
  auto both = co_await corewise::when_any(primary, replica); // what each of them ended with
  co_return both.index == 0 ? std::get<0>(both.all).value() : std::get<1>(both.all).value();
}

} // namespace

int main() {
  corewise::engine engine;
  corewise::future<int> sum = engine.run(total()); // runs; another coroutine would co_await it
  std::printf("%d letters\n", sum.get());
  std::printf("an answer %s\n", sync_wait(engine, answer()).c_str());
  std::printf("the %s was quicker\n", sync_wait(engine, quicker()).c_str());
}
