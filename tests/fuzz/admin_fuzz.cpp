// Feeds any bytes to the admin server's reader of requests, and what it reads to the answers, for each
// caller. An answer has a status; a reader changes nothing.
#include "answers.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

corewise::profile small() {
  corewise::profile p;
  p.workers.total = 1;
  p.workers.pin = corewise::pin_to::none;
  return p;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corewise::admin;
  static auto& e = *new corewise::engine(small());
  static auto& of = *new answers(served(e), {});
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.header_limit(8 * 1024);
  parser.body_limit(256 * 1024);
  boost::beast::error_code why;
  parser.put(boost::asio::buffer(data, size), why);
  if (!why) parser.put_eof(why);
  if (why || !parser.is_done()) return 0;
  static_cast<void>(asks_for_us(parser.get(), "127.0.0.1", {"example"}));
  const auto reloads = e.metrics().reloads;
  if (of.to(parser.get(), {false, "reader"}).result_int() < 200 || e.metrics().reloads != reloads)
    std::abort();
  if (of.to(parser.get(), {true, "operator"}).result_int() < 200) std::abort();
  return 0;
}
