#include "sockets.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// To which group a connection goes by its capacity and its load.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// A listener on a unix socket, whose connections go to the lightest group, and its clients.
class lightest_server {
 public:
  explicit lightest_server(const profile& p)
      : engine(p),
        io_(engine),
        path_("/tmp/corewise_lightest." + std::to_string(::getpid())),
        listener_(start()) {}
  lightest_server(const lightest_server&) = delete;
  lightest_server& operator=(const lightest_server&) = delete;
  ~lightest_server() {
    for (const int fd : clients_) ::close(fd);
    ::unlink(path_.c_str());
  }

  /// Opens some more connections, and waits until they have handlers.
  void connect(std::size_t more) {
    for (std::size_t i = 0; i < more; ++i) {
      const int fd = clients_.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      path_.copy(to.sun_path, sizeof to.sun_path - 1);
      REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    }
    REQUIRE(within(20s, [&] { return listener_.counts().accepted == clients_.size(); }));
  }
  std::uint64_t open(std::uint32_t g) const { return listener_.counts(group_id{g}).open; }

  corewise::engine engine;

 private:
  io::listener start() {
    ::unlink(path_.c_str());
    return io::listen(io_, asio::local::stream_protocol::endpoint(path_), {},
                      [](io::unix_stream peer) -> task<> {
                        char byte = 0;
                        io::error_code why;
                        co_await peer.async_read_some(asio::buffer(&byte, 1), io::use_task.into(why));
                      });
  }

  io::service io_;
  std::string path_;
  io::listener listener_;
  std::vector<int> clients_;
};

profile two_packages_with(std::uint32_t workers) {
  profile p = two_packages();
  p.workers.per_group.reset();
  p.workers.total = workers;
  return p;
}

/// Keeps the worker of a group busy for that long.
void burn(engine& e, std::uint32_t g, std::chrono::milliseconds time) {
  const auto work = [&] {
    CHECK(e.workers()[*e.this_worker()].group == group_id{g});
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  e.run(work, {.group = group_id{g}}).get();
}

} // namespace

TEST_CASE("lightest: groups get connections by the capacities of their cores") {
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  if (files.rlim_max < 2500) {
    MESSAGE("skipped: this process may open too few files");
    return;
  }
  const rlimit before = files;
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 2500);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
  {
    lightest_server on(parse_profile(R"(
topology:
  source: {synthetic: "core:4 pu:1"}
  kinds:
    - {cpus: 0-2, name: P, capacity: 1024}
    - {cpus: 3, name: E, capacity: 614}
workers: {pin: none}
)"));
    on.connect(1000);
    const double share = 1000.0 * 3 * 1024 / (3 * 1024 + 614);
    CHECK(static_cast<double>(on.open(0)) == doctest::Approx(share).epsilon(.05));
    CHECK(static_cast<double>(on.open(1)) == doctest::Approx(1000 - share).epsilon(.05));
  }
  CHECK(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

TEST_CASE("lightest: a reload changes the shares, and a group without workers gets none") {
  lightest_server on(two_packages_with(4));
  on.connect(40);
  CHECK(on.open(0) == 20);
  CHECK(on.open(1) == 20);
  REQUIRE(on.engine.apply(two_packages_with(1)).applied());
  on.connect(40);
  CHECK(on.open(0) == 60);
  CHECK(on.open(1) == 20);
  REQUIRE(on.engine.apply(two_packages_with(3)).applied());
  on.connect(70); // two workers in the first group, one in the second
  CHECK(on.open(0) == 100);
  CHECK(on.open(1) == 50);
}

TEST_CASE("lightest: of groups with as many connections the less busy gets the next") {
  lightest_server on(two_packages());
  burn(on.engine, 0, 300ms);
  on.connect(1); // the first look: since the beginning
  CHECK(on.open(1) == 1);
  on.connect(1);
  CHECK(on.open(0) == 1);
  burn(on.engine, 1, 1100ms); // longer than a look lasts
  on.connect(1);
  CHECK(on.open(0) == 2);
  on.connect(1);
  CHECK(on.open(1) == 2);
  burn(on.engine, 0, 1100ms);
  on.connect(1);
  CHECK(on.open(1) == 3);
}
