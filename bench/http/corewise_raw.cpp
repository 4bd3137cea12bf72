#include "corewise.hpp"

#include <cstring>
#include <string_view>

// Without Beast: it looks for the end of a request, and sends the same bytes. So the share of Beast is seen.

using namespace http_bench;
namespace asio = corewise::io::asio;
namespace io = corewise::io;

namespace {

constexpr std::string_view hello =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n";

corewise::task<> serve(io::tcp_stream peer) {
  char bytes[4096];
  std::size_t has = 0;
  io::error_code why;
  for (;;) {
    has +=
        co_await peer.async_read_some(asio::buffer(bytes + has, sizeof bytes - has), io::use_task.into(why));
    if (why || has == sizeof bytes) co_return;
    if (std::string_view(bytes, has).substr(has >= 4 ? has - 4 : 0) != "\r\n\r\n") continue;
    has = 0;
    co_await asio::async_write(peer, asio::buffer(hello), io::use_task.into(why));
    if (why) co_return;
  }
}

} // namespace

int main(int argc, char** argv) { run_server(parse(argc, argv), serve); }
