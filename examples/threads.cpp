// A daemon has threads of its own as well, such as one that writes its log. They can wait for the same things
// as tasks.
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/sync_wait.hpp>

#include <cstdio>
#include <string>
#include <thread>

namespace {

/// Writes two lines to the log. While the log is full the task waits, and its worker does something else.
corewise::task<> handle(int request, corewise::channel<std::string>& log, corewise::latch& requests) {
  co_await log.send("begin " + std::to_string(request));
  co_await log.send("end " + std::to_string(request));
  requests.count_down();
}

} // namespace

int main() {
  constexpr int number = 1000;
  corewise::channel<std::string> log(8);
  corewise::latch requests(number);
  corewise::engine engine; // behind what its tasks use, for it waits for their end
  int lines = 0;
  std::thread writer([&] {
    // This thread sleeps until there is a line, and ends when the channel is closed and empty.
    while (const auto line = corewise::sync_wait(log.receive())) lines += line->ends_with('7') ? 1 : 0;
  });
  for (int i = 0; i < number; ++i)
    if (engine.submit(handle(i, log, requests)) != corewise::submit_result::accepted) return 1;
  corewise::sync_wait(requests.wait());
  log.close();
  writer.join();
  std::printf("%d lines of requests that end in 7\n", lines);
}
