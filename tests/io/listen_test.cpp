#include "sanitized.hpp"
#include "sockets.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/engine/log_record.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/io/detail/steering.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Runs a steering program as the kernel does.
std::uint32_t run(const std::vector<sock_filter>& program, std::uint32_t cpu) {
  std::uint32_t a = 0;
  for (std::size_t at = 0;; ++at) {
    const sock_filter& now = program.at(at);
    switch (now.code) {
    case BPF_LD | BPF_W | BPF_ABS: a = cpu; break;
    case BPF_JMP | BPF_JGE | BPF_K: at += a >= now.k ? now.jt : now.jf; break;
    case BPF_JMP | BPF_JGT | BPF_K: at += a > now.k ? now.jt : now.jf; break;
    case BPF_RET | BPF_K: return now.k;
    default: REQUIRE(false);
    }
  }
}

} // namespace

TEST_CASE("listen: after a stop what waits in the kernel is handled, and then nothing is accepted") {
  served_engine on(2);
  for (int round = 0; round < 20; ++round) {
    io::listener server = io::listen(on.io, on_loopback(), {}, echo);
    std::vector<int> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(connect_plainly(server.port()));
    server.stop();
    server.wait_until_closed();
    CHECK(within(5s, [&] { return server.counts().accepted == 20; }));
    for (const int fd : clients) {
      CHECK(answers(fd));
      ::close(fd);
    }
    CHECK(within(5s, [&] { return server.counts().open == 0; }));
  }
}

TEST_CASE("listen: a connection between the last look and the stop is handled") {
  served_engine on(2);
  for (int round = 0; round < 2000; ++round) {
    io::listener server = io::listen(on.io, on_loopback(), {}, echo);
    const int client = connect_plainly(server.port());
    server.stop();
    server.wait_until_closed();
    CHECK(within(5s, [&] { return server.counts().accepted == 1; }));
    CHECK(answers(client));
    ::close(client);
  }
}

TEST_CASE("listen: a stop ends though clients keep coming faster than they are accepted") {
  std::atomic<bool> over{false};
  const auto slow = [&]() -> task<> { // has the listener wait between its turns
    while (!over.load()) {
      std::this_thread::sleep_for(5ms);
      co_await yield();
    }
  };
  served_engine on(1);
  REQUIRE(on.engine.submit(slow()) == submit_result::accepted);
  io::listener server = io::listen(on.io, on_loopback(), {.backlog = 64}, echo);
  const std::uint16_t port = server.port();
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      while (!over.load()) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const tcp::endpoint to = on_loopback(port);
        if (::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0 || errno == EINPROGRESS)
          std::this_thread::sleep_for(200us);
        ::close(fd);
      }
    });
  CHECK(within(20s, [&] { return server.counts().accepted > 100; }));
  std::atomic<bool> closed{false};
  server.stop();
  std::thread waiter([&] {
    server.wait_until_closed();
    closed = true;
  });
  CHECK(within(5s, [&] { return closed.load(); }));
  over = true;
  for (std::thread& client : clients) client.join();
  waiter.join();
}

TEST_CASE("listen: an address in use is an error, with a socket for each group too") {
  engine e(two_packages());
  io::service io(e);
  io::listener first = io::listen(io, on_loopback(), {}, echo);
  const std::uint16_t port = first.port();
  CHECK_THROWS_AS(io::listen(io, on_loopback(port), {}, echo), io::system_error);
  const int client = connect_plainly(port);
  CHECK(answers(client));
  first.stop();
  first.wait_until_closed();
  const io::listener second =
      io::listen(io, on_loopback(port), {}, echo); // a client of the first is still there
  CHECK(answers(client));
  ::close(client);
}

TEST_CASE("listen: connections of one socket go to the lightest group") {
  engine e(two_packages());
  io::service io(e);
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
  const tcp::endpoint at = on_loopback();
  REQUIRE(::bind(listening, at.data(), static_cast<socklen_t>(at.size())) == 0);
  REQUIRE(::listen(listening, 64) == 0);
  const io::listener server = io::listen(io, at, {.adopted = {listening}}, echo);
  std::vector<int> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect_plainly(server.port()));
  CHECK(within(10s, [&] { return server.counts().open == 20; }));
  CHECK(server.counts(group_id{0}).open == 10);
  CHECK(server.counts(group_id{1}).open == 10);
  for (const int fd : clients) ::close(fd);
}

TEST_CASE("listen: the end of the engine stops the listener") {
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  CHECK(on.engine.shutdown(1s, 5s).clean());
  server.wait_until_closed();
}

TEST_CASE("listen: most connections wait, or are refused") {
  using excess = io::listen_options::excess;
  for (const excess then : {excess::wait, excess::refuse}) {
    served_engine on(2);
    const io::listener server =
        io::listen(on.io, on_loopback(), {.on_excess = then, .most_connections = 2}, echo);
    std::vector<int> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(connect_plainly(server.port()));
    CHECK(within(5s, [&] { return server.counts().open == 2; }));
    const int third = connect_plainly(server.port());
    char byte = 0;
    if (then == excess::refuse) {
      CHECK(::recv(third, &byte, 1, 0) <= 0);
      CHECK(server.counts().refused == 1);
    } else {
      std::this_thread::sleep_for(20ms);
      CHECK(server.counts().open == 2);
      ::close(clients.back());
      clients.pop_back();
      CHECK(answers(third));
    }
    ::close(third);
    for (const int fd : clients) ::close(fd);
  }
}

TEST_CASE("listen: the largest number of connections is as good as no limit") {
  served_engine on(1);
  const io::listener server = io::listen(on.io, on_loopback(), {.most_connections = UINT32_MAX}, echo);
  const int client = connect_plainly(server.port());
  CHECK(answers(client));
  ::close(client);
}

TEST_CASE("listen: without descriptors connections wait") {
  if (tests::objects_checked) {
    MESSAGE("skipped: without descriptors UndefinedBehaviorSanitizer takes each object for none");
    return;
  }
  std::atomic<int> said{0};
  engine e(served_engine::profile_of(2), counting(log_code::accept_paused, said));
  io::service io(e);
  const io::listener server = io::listen(io, on_loopback(), {}, echo);
  std::vector<int> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(clients.back()) + 1;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (const int fd : clients) {
    const tcp::endpoint to = on_loopback(server.port());
    CHECK(::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0);
  }
  CHECK(within(20s, [&] { return said != 0; }));
  std::this_thread::sleep_for(200ms); // it tries again meanwhile
  CHECK(server.counts().accepted < clients.size());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(within(5s, [&] { return server.counts().accepted == clients.size(); }));
  CHECK(said == 1);
  for (const int fd : clients) ::close(fd);
}

TEST_CASE("listen: adopted sockets, and unix sockets") {
  served_engine on(2);
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0); // as systemd hands it over
  tcp::endpoint at = on_loopback();
  REQUIRE(::bind(listening, at.data(), static_cast<socklen_t>(at.size())) == 0);
  REQUIRE(::listen(listening, 8) == 0);
  io::listener adopted = io::listen(on.io, at, {.adopted = {listening}}, echo);
  const int fd = connect_plainly(adopted.port());
  CHECK(answers(fd));
  CHECK((::fcntl(listening, F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(listening, F_GETFD) & FD_CLOEXEC) != 0);
  ::close(fd);
  const int idle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int behind = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_THROWS_AS(io::listen(on.io, at, {.adopted = {idle, behind}}, echo), io::system_error);
  for (const int closed : {idle, behind}) CHECK(::fcntl(closed, F_GETFD) == -1);
  CHECK_THROWS_AS(io::listen(on.io, at, {.adopted = {-1}}, echo), io::system_error);

  const std::string path = "/tmp/corewise_listen_test." + std::to_string(::getpid());
  ::unlink(path.c_str());
  const io::listener local =
      io::listen(on.io, asio::local::stream_protocol::endpoint(path), {}, [](io::unix_stream peer) -> task<> {
        char bytes[16];
        const std::size_t n = co_await peer.async_read_some(asio::buffer(bytes));
        co_await asio::async_write(peer, asio::buffer(bytes, n), io::use_task);
      });
  on.engine
      .run([&]() -> task<> {
        io::unix_stream peer(on.io.local());
        co_await peer.async_connect(path, io::use_task);
        co_await asio::async_write(peer, asio::buffer("unix", 4), io::use_task);
        char bytes[4];
        CHECK(co_await asio::async_read(peer, asio::buffer(bytes), io::use_task) == 4);
      })
      .get();
  ::unlink(path.c_str());
  CHECK_THROWS_AS(io::listen(on.io, on_loopback(adopted.port()), {}, echo), io::system_error);
}

TEST_CASE("listen: on a machine with two packages each group accepts, and the lightest takes") {
  using balance = io::listen_options::balancing;
  for (const balance by : {balance::receiving_cpu, balance::lightest}) {
    engine e(two_packages());
    io::service io(e);
    const io::listener server = io::listen(io, on_loopback(), {.balance = by}, echo);
    std::vector<int> clients;
    for (int i = 0; i < 100; ++i) clients.push_back(connect_plainly(server.port()));
    CHECK(within(10s, [&] { return server.counts().open == 100; }));
    if (by == balance::lightest) {
      CHECK(server.counts(group_id{0}).open == 50);
      CHECK(server.counts(group_id{1}).open == 50);
    }
    for (const int fd : clients) {
      CHECK(answers(fd));
      ::close(fd);
    }
    CHECK(within(5s, [&] { return server.counts().open == 0; }));
  }
}

TEST_CASE("listen: the kernel gives a connection to the group of the CPU that receives it") {
  profile p = served_engine::profile_of(2);
  p.topology.groups.group_by = domain_kind::core;
  p.topology.smt = smt_use::all;
  engine e(p);
  const auto& groups = e.groups().groups();
  if (groups.size() < 2 || e.workers().of_group(group_id{1}).empty()) {
    MESSAGE("skipped: this machine has one core");
    return;
  }
  io::service io(e);
  const io::listener server = io::listen(io, on_loopback(), {}, echo);
  std::vector<int> clients;
  for (std::uint32_t g = 0; g < 2; ++g) {
    const std::uint64_t before = server.counts(group_id{g}).accepted;
    std::thread([&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(groups[g].cpus.first(), &one);
      if (::sched_setaffinity(0, sizeof one, &one) != 0) return;
      for (int i = 0; i < 50; ++i) clients.push_back(connect_plainly(server.port()));
    }).join();
    CHECK(within(5s, [&] { return server.counts().accepted == clients.size(); }));
    CHECK(server.counts(group_id{g}).accepted - before >=
          49); // the thread may be moved while it binds itself
  }
  for (const int fd : clients) ::close(fd);
}

TEST_CASE("listen: engines of a set share an address, and each takes what its own CPUs receive") {
  const cpu_set all = discover({}).cpus();
  if (all.size() < 2) {
    MESSAGE("skipped: this machine has one CPU");
    return;
  }
  std::vector<profile> profiles;
  for (const std::uint32_t cpu : {all.to_vector().front(), all.to_vector().back()}) {
    profile& p = profiles.emplace_back(served_engine::profile_of(1));
    p.name = "cpu" + std::to_string(cpu);
    p.topology.machine.use.cpus.emplace().insert(cpu);
  }
  engine_set engines(profiles);
  std::vector<std::unique_ptr<io::service>> services;
  for (engine& e : engines) services.push_back(std::make_unique<io::service>(e));
  io::service* const both[] = {services[0].get(), services[1].get()};
  const std::vector<io::listener> servers = io::listen(both, on_loopback(), {}, echo);
  REQUIRE(servers.size() == 2);
  CHECK(servers[0].port() == servers[1].port());
  std::vector<int> clients;
  for (std::size_t i = 0; i < 2; ++i) {
    std::thread([&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(engines[i].machine().cpus().first(), &one);
      if (::sched_setaffinity(0, sizeof one, &one) != 0) return;
      for (int n = 0; n < 50; ++n) clients.push_back(connect_plainly(servers[0].port()));
    }).join();
    CHECK(within(
        5s, [&] { return servers[0].counts().accepted + servers[1].counts().accepted == clients.size(); }));
    CHECK(servers[i].counts().accepted >= 49); // the thread may be moved while it binds itself
  }
  for (const int fd : clients) {
    CHECK(answers(fd));
    ::close(fd);
  }
}

TEST_CASE("listen: engines of a set accept from one unix socket, and share adopted ones") {
  std::vector<profile> profiles;
  for (const char* name : {"a", "b", "c"}) {
    profiles.push_back(served_engine::profile_of(1));
    profiles.back().name = name;
  }
  engine_set engines(profiles);
  std::vector<std::unique_ptr<io::service>> services;
  std::vector<io::service*> all;
  for (engine& e : engines) all.push_back(services.emplace_back(std::make_unique<io::service>(e)).get());
  const std::string path = "/tmp/corewise_listen_set." + std::to_string(::getpid());
  const auto handler = [](io::unix_stream) -> task<> { co_return; };
  const auto servers = io::listen(all, asio::local::stream_protocol::endpoint(path), {}, handler);
  CHECK(servers.size() == 3);
  for (int i = 0; i < 20; ++i) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    ::close(fd);
  }
  CHECK(within(5s, [&] {
    std::uint64_t accepted = 0;
    for (const io::listener& l : servers) accepted += l.counts().accepted;
    return accepted == 20;
  }));
  ::unlink(path.c_str());
  CHECK_THROWS_AS(static_cast<void>(io::listen(std::span<io::service* const>(), on_loopback(), {}, echo)),
                  std::invalid_argument);
  const int adopted = ::socket(AF_INET, SOCK_STREAM, 0);
  REQUIRE(::listen(adopted, 8) == 0);
  CHECK_THROWS_AS(static_cast<void>(io::listen(all, on_loopback(), {.adopted = {adopted}}, echo)),
                  io::system_error);
}

TEST_CASE("steering: the program chooses the socket of the CPU's group") {
  const std::vector<io::detail::cpu_range> ranges{{0, 3, 0}, {4, 7, 1}, {16, 19, 0}, {20, 20, 2}};
  const auto program = io::detail::steering_program(ranges);
  for (std::uint32_t cpu = 0; cpu < 30; ++cpu) {
    std::uint32_t expected = 0xffff'ffff;
    for (const auto& r : ranges)
      if (cpu >= r.first && cpu <= r.last) expected = r.socket;
    CHECK(run(program, cpu) == expected);
  }
  CHECK(io::detail::steering_program(std::vector<io::detail::cpu_range>(2000, {0, 0, 0})).empty());
}
