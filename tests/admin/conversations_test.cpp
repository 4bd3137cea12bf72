#include "asking.hpp"
#include "conversations.hpp"

#include <corewise/engine/engine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Sends this to an admin server that gives a body little time. Returns what comes until it closes the connection.
std::string answer_in_time(engine& e, const std::string& sent) {
  namespace asio = boost::asio;
  asio::io_context context;
  admin::answers answers(admin::served(e), {});
  admin::open_connections open;
  admin::conversations talk(context, answers, open, {}, 100ms);
  asio::local::stream_protocol::socket mine(context);
  asio::local::stream_protocol::socket theirs(context);
  asio::local::connect_pair(mine, theirs);
  asio::write(mine, asio::buffer(sent));
  asio::co_spawn(context, talk.with_operator(std::move(theirs), "user 0"), asio::detached);
  std::string got;
  bool closed = false;
  asio::async_read(mine, asio::dynamic_buffer(got), [&](const boost::system::error_code&, std::size_t) {
    closed = true;
    mine.close();
  });
  context.run_for(60s);
  CHECK(closed);
  return got;
}

} // namespace

TEST_CASE("admin: a body that does not come in its time ends the connection") {
  engine e(small(1));
  const std::string body = "name: sent at once\nworkers: {pin: none}\n";
  const std::string head = "PUT /profile HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
  const auto begun = std::chrono::steady_clock::now();
  CHECK(answer_in_time(e, head + "1000\r\n\r\n" + body).empty());
  CHECK(std::chrono::steady_clock::now() - begun >= 100ms);
  CHECK(e.metrics().reloads == 0);
  CHECK(is(answer_in_time(e, head + std::to_string(body.size()) + "\r\n\r\n" + body), 200));
  CHECK(e.configuration().name == "sent at once");
}
