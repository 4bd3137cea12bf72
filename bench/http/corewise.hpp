#pragma once

#include "server.hpp"

#include <corewise/io/listen.hpp>

#include <semaphore>

// A server on corewise.

namespace http_bench {

/// Serves connections by `serve(stream)` until the process is ended.
template <class Handler> void run_server(const options& o, Handler serve) {
  namespace asio = corewise::io::asio;
  corewise::profile p;
  p.workers.total = o.threads;
  corewise::engine engine(p);
  corewise::io::service service(engine);
  const corewise::io::listener listener = corewise::io::listen(
      service, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), o.port), {}, std::move(serve));
  std::printf("%u\n", listener.port());
  std::fflush(stdout);
  std::binary_semaphore(0).acquire();
}

} // namespace http_bench
