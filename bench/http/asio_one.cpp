#include "asio.hpp"

// One context for all threads.

int main(int argc, char** argv) {
  using namespace http_bench;
  const options o = parse(argc, argv);
  asio::io_context all(static_cast<int>(o.threads));
  asio::thread_pool blocking(64);
  tcp::acceptor from = listening(all, o.port, false);
  std::printf("%u\n", from.local_endpoint().port());
  std::fflush(stdout);
  asio::co_spawn(all, accept(from, blocking), asio::detached);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < o.threads; ++i) threads.emplace_back([&] { all.run(); });
  all.run();
}
