#include "corewise.hpp"

#include <corewise/engine/run_blocking.hpp>

using namespace http_bench;
namespace io = corewise::io;

namespace {

corewise::task<> serve(io::tcp_stream peer) {
  boost::beast::flat_buffer buffer;
  io::error_code why;
  for (bool keep = true; keep;) {
    request asked;
    co_await http::async_read(peer, buffer, asked, io::use_task.into(why));
    if (why) co_return;
    const work what = work_of(asked);
    if (what == work::block) {
      auto call = [] { http_bench::block(); };
      co_await corewise::run_blocking(call);
    }
    const response res = answer(asked, what);
    keep = res.keep_alive();
    co_await http::async_write(peer, res, io::use_task.into(why));
    if (why) co_return;
  }
  why = peer.shutdown(io::tcp_stream::shutdown_send, why);
}

} // namespace

int main(int argc, char** argv) { run_server(parse(argc, argv), serve); }
