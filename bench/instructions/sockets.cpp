#include "counting.hpp"
#include "kind.hpp"
#include "work_clock.hpp"

#include <corewise/io/service.hpp>
#include <corewise/io/stream.hpp>

// The instructions of sockets on one worker.

namespace corewise::bench {

namespace {

namespace asio = io::asio;

/// Writes a byte and reads it at the other end: neither has to wait.
task<> write_and_read(io::unix_stream& in, io::unix_stream& out, std::uint64_t times) {
  begin_counting();
  char byte = 'x';
  for (std::uint64_t i = 0; i < times; ++i) {
    check(co_await in.async_write_some(asio::buffer(&byte, 1)) == 1);
    check(co_await out.async_read_some(asio::buffer(&byte, 1)) == 1);
    pass_operation();
  }
  end_counting();
}

void run_sockets(engine& e, std::uint64_t operations) {
  static io::service service(e); // a process has one engine, and ends by _Exit
  io::unix_stream in(service.local());
  io::unix_stream out(service.local());
  asio::local::connect_pair(in, out);
  sync_wait(e, write_and_read(in, out, operations));
}

} // namespace

const kind write_and_read_in_place{
    "socket", "a byte written to a socket and read at its other end; neither waits", 1, 10'000, run_sockets};

} // namespace corewise::bench
