#include "sockets.hpp"

#include <corewise/engine/dump.hpp>
#include <corewise/engine/health.hpp>
#include <corewise/engine/log_record.hpp>
#include <corewise/engine/trace.hpp>

#ifdef COREWISE_STANDALONE_ASIO
#include <asio/experimental/as_tuple.hpp>
#else
#include <boost/asio/experimental/as_tuple.hpp>
#endif

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

// What a dump says of the coroutines that wait for sockets and the like.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

using steady_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                                asio::wait_traits<std::chrono::steady_clock>, io::executor>;

using plain_socket = asio::basic_stream_socket<tcp, io::executor>;
using packet_socket = asio::basic_datagram_socket<asio::ip::udp, io::executor>;

/// Returns what waits, but for listeners.
std::vector<socket_wait> waits_of(const engine& e) {
  std::vector<socket_wait> all = e.dump().socket_waits;
  std::erase_if(all, [](const socket_wait& w) { return w.kind == wait_kind::accept; });
  return all;
}

std::string name_of(const tcp::endpoint& at) { return "127.0.0.1:" + std::to_string(at.port()); }

/// Waits until a dump says that one coroutine waits, for this operation.
bool comes_to_wait(const engine& e, wait_kind kind, int descriptor, const std::string& peer) {
  return within(5s, [&] {
    const engine_dump now = e.dump();
    return now.socket_waits.size() == 1 && now.socket_waits[0].kind == kind &&
           now.socket_waits[0].descriptor == descriptor && now.socket_waits[0].peer == peer &&
           now.suspended.size() == 1 && now.suspended[0].kind == kind;
  });
}

/// Reads a byte, and then waits for a timer: a composed operation whose later part waits for no socket.
struct read_and_rest {
  io::unix_stream& from;
  steady_timer& timer;
  char& byte;
  int part = 0;

  template <class Self> void operator()(Self& self, io::error_code why = {}, std::size_t /*bytes*/ = 0) {
    switch (part++) {
    case 0: return from.async_read_some(asio::buffer(&byte, 1), std::move(self));
    case 1: return timer.async_wait(std::move(self));
    default: self.complete(why);
    }
  }
};

} // namespace

TEST_CASE("socket waits: a dump names the sockets for which coroutines wait, and their peers") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  const auto waits = [&] { return waits_of(on.engine); };
  CHECK(waits().empty());

  asio::io_context elsewhere;
  tcp::socket client(elsewhere);
  client.connect(on_loopback(server.port()));
  const std::string name = name_of(client.local_endpoint());
  for (int round = 0; round < 3; ++round) {
    std::vector<socket_wait> seen;
    REQUIRE(within(5s, [&] { return (seen = waits()).size() == 1; }));
    CHECK(seen[0].kind == wait_kind::read);
    CHECK(seen[0].peer == name);
    CHECK(seen[0].descriptor > 2);
    CHECK(seen[0].time < 5s);
    char byte = 'x';
    asio::write(client, asio::buffer(&byte, 1));
    asio::read(client, asio::buffer(&byte, 1));
  }
  REQUIRE(within(5s, [&] { return waits().size() == 1 && waits()[0].time >= 100ms; }));
  const engine_dump inside = on.engine.dump();
  const std::string line =
      "io: read of descriptor " + std::to_string(waits()[0].descriptor) + " (" + name + ") for ";
  CHECK(inside.to_text().find(line) != std::string::npos);
  const auto json = nlohmann::json::parse(inside.to_json())["socket_waits"];
  REQUIRE(json.size() == 1 + on.engine.groups().size()); // and the listener's
  const auto of_client = std::ranges::find_if(json, [&](const auto& w) { return w["peer"] == name; });
  REQUIRE(of_client != json.end());
  CHECK((*of_client)["time_us"] >= 100'000);
  client.close();
  CHECK(within(5s, [&] { return waits().empty(); }));

  auto ends = make_pair(on.io);
  const std::string much(3'000'000, 'x');
  std::vector<future<void>> running;
  running.push_back(on.engine.run([&]() -> task<> {
    io::error_code why;
    co_await asio::async_write(ends.first, asio::buffer(much), io::use_task.into(why));
  }));
  std::vector<socket_wait> seen;
  REQUIRE(within(5s, [&] { return (seen = waits()).size() == 1; }));
  CHECK(seen[0].kind == wait_kind::write);
  CHECK(seen[0].peer.empty());
  ends.second.close();
  running.back().get();
  CHECK(waits().empty());
}

TEST_CASE("socket waits: a connection that is not answered is named by its peer") {
  served_engine on(2);
  asio::io_context elsewhere;
  asio::basic_socket_acceptor<tcp> full(elsewhere, on_loopback());
  full.listen(0);
  tcp::socket first(elsewhere); // it takes the only place, so the kernel answers no other
  first.connect(full.local_endpoint());
  const auto unanswered = [&](auto socket) {
    std::stop_source stop;
    int descriptor = -1;
    auto running = on.engine.run([&]() -> task<> {
      io::error_code why;
      socket.open(tcp::v4());
      descriptor = socket.native_handle();
      co_await socket.async_connect(full.local_endpoint(), io::use_task(stop.get_token()).into(why));
      CHECK(why == asio::error::operation_aborted);
    });
    REQUIRE(within(5s, [&] { return on.engine.dump().socket_waits.size() == 1; }));
    CHECK(comes_to_wait(on.engine, wait_kind::connect, descriptor, name_of(full.local_endpoint())));
    stop.request_stop();
    running.get();
    CHECK(on.engine.dump().socket_waits.empty());
  };
  unanswered(io::tcp_stream(on.io.local()));
  unanswered(plain_socket(on.io.local()));
}

TEST_CASE(
    "socket waits: whatever waits for a descriptor is named: acceptors, packets, pipes, plain sockets") {
  served_engine on(2);
  const io::executor here = on.io.local();
  std::stop_source stop;
  const auto until = [&](io::error_code& why) { return io::use_task(stop.get_token()).into(why); };
  /// Has a coroutine wait, sees what a dump calls it, and stops it.
  const auto sees = [&](wait_kind kind, int descriptor, const std::string& peer, auto begins) {
    CAPTURE(to_string(kind));
    CAPTURE(peer);
    auto running = on.engine.run(begins);
    CHECK(comes_to_wait(on.engine, kind, descriptor, peer));
    stop.request_stop();
    running.get();
    CHECK(on.engine.dump().socket_waits.empty());
    stop = {};
  };
  io::error_code why;
  char bytes[2];

  asio::basic_socket_acceptor<tcp, io::executor> acceptor(here, on_loopback());
  const std::string listens = "local " + name_of(acceptor.local_endpoint());
  sees(wait_kind::accept, acceptor.native_handle(), listens,
       [&]() -> task<> { co_await acceptor.async_accept(until(why)); });
  sees(wait_kind::accept, acceptor.native_handle(), listens, [&]() -> task<> {
    co_await acceptor.async_accept(asio::experimental::as_tuple(io::use_task(stop.get_token())));
  });
  sees(wait_kind::io, acceptor.native_handle(), listens,
       [&]() -> task<> { co_await acceptor.async_wait(acceptor.wait_read, until(why)); });

  packet_socket packets(here, {asio::ip::address_v4::loopback(), 0});
  const std::string port = std::to_string(packets.local_endpoint().port());
  asio::ip::udp::endpoint from;
  sees(wait_kind::read, packets.native_handle(), "local 127.0.0.1:" + port,
       [&]() -> task<> { co_await packets.async_receive_from(asio::buffer(bytes), from, until(why)); });
  packet_socket connected(here, asio::ip::udp::v4());
  connected.connect(packets.local_endpoint());
  sees(wait_kind::read, connected.native_handle(), "127.0.0.1:" + port,
       [&]() -> task<> { co_await connected.async_receive(asio::buffer(bytes), until(why)); });

  asio::basic_readable_pipe<io::executor> out(here);
  asio::basic_writable_pipe<io::executor> in(here);
  asio::connect_pipe(out, in);
  sees(wait_kind::read, out.native_handle(), "",
       [&]() -> task<> { co_await out.async_read_some(asio::buffer(bytes), until(why)); });
  const std::string much(3'000'000, 'x');
  sees(wait_kind::write, in.native_handle(), "",
       [&]() -> task<> { co_await asio::async_write(in, asio::buffer(much), until(why)); });

  plain_socket client(here);
  client.connect(acceptor.local_endpoint());
  tcp::socket server = acceptor.accept();
  const std::string peer = name_of(acceptor.local_endpoint());
  // A composed operation is named in each of its steps.
  sees(wait_kind::read, client.native_handle(), peer, [&]() -> task<> {
    asio::write(server, asio::buffer("x", 1));
    co_await asio::async_read(client, asio::buffer(bytes), until(why));
    CHECK(why == asio::error::operation_aborted);
  });
  CHECK(bytes[0] == 'x');
}

TEST_CASE("socket waits: listeners are named by their own addresses") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  const std::string path = "/tmp/corewise_waits." + std::to_string(::getpid());
  const io::listener local = io::listen(on.io, asio::local::stream_protocol::endpoint(path), {},
                                        [](io::unix_stream) -> task<> { co_return; });
  ::unlink(path.c_str());
  const std::string names[] = {"local 127.0.0.1:" + std::to_string(server.port()), "local " + path};
  CHECK(within(5s, [&] {
    std::size_t of_ip = 0;
    std::size_t others = 0;
    for (const socket_wait& w : on.engine.dump().socket_waits)
      ++(w.kind == wait_kind::accept && w.peer == names[0] ? of_ip : others);
    return of_ip == on.engine.groups().size() && others == 1;
  }));
  const std::string text = on.engine.dump().to_text();
  for (const std::string& name : names) {
    CAPTURE(text);
    CHECK(text.find("io: accept of descriptor ") != std::string::npos);
    CHECK(text.find(" (" + name + ") for ") != std::string::npos);
  }
}

TEST_CASE("socket waits: of an operation that has read, and waits for something else, a dump says nothing") {
  served_engine on(2);
  auto ends = make_pair(on.io);
  steady_timer timer(on.io.local());
  timer.expires_after(1h);
  char byte = 0;
  std::stop_source stop;
  io::error_code why;
  auto running = on.engine.run([&]() -> task<> {
    auto until = io::use_task(stop.get_token()).into(why);
    co_await asio::async_compose<io::limited_use_task, void(io::error_code)>(
        read_and_rest{ends.first, timer, byte}, until, ends.first);
  });
  const auto waits = [&] { return on.engine.dump().socket_waits.size(); };
  REQUIRE(within(5s, [&] { return waits() == 1; }));
  asio::write(ends.second, asio::buffer("x", 1));
  CHECK(within(5s, [&] { return waits() == 0; }));
  stop.request_stop();
  running.get();
  CHECK(byte == 'x');
  CHECK(why == asio::error::operation_aborted);
}

TEST_CASE("socket waits: of many a dump has the longest of each group, while they come and go") {
  served_engine on(4);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over)
      for (const socket_wait& w : on.engine.dump().socket_waits) CHECK(w.descriptor > 2);
  });
  asio::io_context elsewhere;
  const auto connected = [&] {
    tcp::socket client(elsewhere);
    client.connect(on_loopback(server.port()));
    return client;
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      tcp::socket client = connected();
      char byte = 'x';
      for (int round = 0; round < 500; ++round) {
        asio::write(client, asio::buffer(&byte, 1));
        asio::read(client, asio::buffer(&byte, 1));
      }
    });
  for (std::thread& t : clients) t.join();
  over = true;
  looks.join();

  REQUIRE(within(5s, [&] { return server.counts().open == 0; }));
  const std::size_t groups = on.engine.groups().size();
  const std::size_t many = groups * engine_dump::most_socket_waits + 8;
  std::vector<tcp::socket> idle;
  for (std::size_t i = 0; i < many; ++i) idle.push_back(connected());
  REQUIRE(within(5s, [&] { return server.counts().open == many; }));
  if (groups == 1)
    CHECK(within(5s, [&] { return on.engine.dump().socket_waits.size() == engine_dump::most_socket_waits; }));
  const std::vector<socket_wait> waits = on.engine.dump().socket_waits;
  for (std::size_t i = 1; i < waits.size(); ++i)
    CHECK((waits[i].group != waits[i - 1].group || waits[i].time <= waits[i - 1].time));
}

TEST_CASE("socket waits: where no worker serves a group's sockets, health and the report of its stuck worker "
          "name them") {
  std::mutex mutex;
  std::string report;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    const std::scoped_lock lock(mutex);
    if (r.code == log_code::stuck_worker) report = r.text;
  };
  profile p = served_engine::profile_of(1);
  p.blocking.stuck_after = 20ms;
  std::counting_semaphore<> go_on(0);
  engine e(p, hooks);
  io::service service(e);
  auto ends = make_pair(service);
  char byte = 0;
  auto reads = [&]() -> task<std::size_t> {
    co_return co_await ends.first.async_read_some(asio::buffer(&byte, 1));
  };
  future<std::size_t> bytes = e.run(reads());
  REQUIRE(comes_to_wait(e, wait_kind::read, ends.first.native_handle(), ""));
  CHECK(e.health().socket_waits.empty());

  CHECK(e.submit([&] { go_on.acquire(); }) == submit_result::accepted);
  CHECK(within(5s, [&] { return e.health().state == health_state::degraded; }));
  const std::vector<socket_wait> named = e.health().socket_waits;
  REQUIRE(named.size() == 1);
  CHECK(named[0].descriptor == ends.first.native_handle());
  const std::string text = "io: read of descriptor " + std::to_string(named[0].descriptor) + " for ";
  CHECK(to_text(named[0]).starts_with(text));
  CHECK(within(5s, [&] {
    const std::scoped_lock lock(mutex);
    return report.find("; no worker of its group serves sockets: " + text) != std::string::npos;
  }));
  go_on.release();
  CHECK(within(5s, [&] { return e.health().ok(); }));
  asio::write(ends.second, asio::buffer("x", 1));
  CHECK(bytes.get() == 1);
}

TEST_CASE(
    "socket waits: a trace says for which operation a coroutine has waited, and whose steps are whose") {
  served_engine on(1);
  auto ends = make_pair(on.io);
  trace_session session(on.engine);
  const std::string much(3'000'000, 'x');
  const auto run = [&](const char* name, auto waits, wait_kind what, const auto& then) {
    auto running = on.engine.run(waits(), {.name = name});
    REQUIRE(within(5s, [&] { return comes_to_wait(on.engine, what, ends.first.native_handle(), ""); }));
    then();
    running.get();
  };
  run(
      "reads",
      [&]() -> task<> {
        char byte = 0;
        co_await asio::async_read(ends.first, asio::buffer(&byte, 1), io::use_task);
      },
      wait_kind::read, [&] { CHECK(::send(ends.second.native_handle(), "x", 1, 0) == 1); });
  run(
      "writes",
      [&]() -> task<> {
        io::error_code why;
        co_await asio::async_write(ends.first, asio::buffer(much), io::use_task.into(why));
      },
      wait_kind::write, [&] { ends.second.close(); });
  on.engine.drain();
  REQUIRE(within(5s, [&] { return on.engine.dump().seats[0].state == seat_state::parked; }));
  const engine_trace t = session.finish();
  const auto waits = [&](const std::string& name) {
    std::uint64_t task = 0;
    std::size_t begun = 0;
    for (const trace_event& e : t.events) {
      if (e.what != trace_event::kind::begun || t.texts[e.text].find(name) == std::string::npos) continue;
      if (task != 0) CHECK(e.task == task);
      task = e.task;
      ++begun;
    }
    CHECK(begun > 1);
    std::vector<wait_kind> all;
    for (const trace_event& e : t.events)
      if (e.task == task && e.what == trace_event::kind::suspended && e.waited) all.push_back(*e.waited);
    return all;
  };
  CHECK(waits("reads") == std::vector{wait_kind::read});
  CHECK(waits("writes") == std::vector{wait_kind::write});
  CHECK(t.to_json().find(R"("name":"waits: io: read")") != std::string::npos);
  const auto polled = std::ranges::find(t.events, trace_event::kind::polled, &trace_event::what);
  REQUIRE(polled != t.events.end());
  CHECK(polled->worker == 0);
  CHECK(polled->count >= 1);
  for (const std::string& text : t.texts) CHECK(text.find("a step of") == std::string::npos);
}
