#include "asio.hpp"

// A context for each thread, which listens by itself (SO_REUSEPORT).

int main(int argc, char** argv) {
  using namespace http_bench;
  const options o = parse(argc, argv);
  asio::thread_pool blocking(64);
  std::vector<std::unique_ptr<asio::io_context>> contexts;
  std::vector<tcp::acceptor> from;
  std::uint16_t port = o.port;
  for (unsigned i = 0; i < o.threads; ++i) {
    contexts.push_back(std::make_unique<asio::io_context>(1));
    from.push_back(listening(*contexts.back(), port, true));
    port = from.back().local_endpoint().port();
  }
  std::printf("%u\n", port);
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < o.threads; ++i) {
    asio::co_spawn(*contexts[i], accept(from[i], blocking), asio::detached);
    threads.emplace_back([&on = *contexts[i]] { on.run(); });
  }
  for (std::thread& t : threads) t.join();
}
