// A program outside the project that uses the component `io`.
#include <corewise/io/service.hpp>
#include <corewise/io/use_task.hpp>

#include <chrono>
#include <cstdio>

int main() {
  namespace asio = corewise::io::asio;
  corewise::engine e;
  corewise::io::service io(e);
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                             corewise::io::executor>
      timer(io.local(), std::chrono::milliseconds(1));
  e.run([&]() -> corewise::task<> { co_await timer.async_wait(corewise::io::use_task); }).get();
  std::printf("rang\n");
}
