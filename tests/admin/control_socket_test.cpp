#include "admin_server.hpp"
#include "within.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Leaves a socket there at which nothing listens.
void leave_stale(const std::string& path) {
  const int stale = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
  REQUIRE(::bind(stale, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  ::close(stale); // the path stays
}

} // namespace

TEST_CASE("admin: the control socket is the user's own, replaces a stale one, and goes at the end") {
  const std::string path = socket_path();
  {
    leave_stale(path);
    served on(small(1));
    struct stat seen{};
    REQUIRE(::stat(path.c_str(), &seen) == 0);
    CHECK((seen.st_mode & 0777) == 0600);
    CHECK(is(on.control("GET /dump"), 200));
    admin::options same;
    same.control = path;
    CHECK_THROWS_AS(admin::server(on.e, same), std::system_error); // it is in use
    CHECK(is(on.control("GET /dump"), 200));
  }
  CHECK(::access(path.c_str(), F_OK) != 0);

  std::FILE* const file = std::fopen(path.c_str(), "w");
  std::fclose(file);
  engine e(small(1));
  admin::options o;
  o.control = path;
  CHECK_THROWS_AS(admin::server(e, o), std::system_error); // no socket: it stays
  CHECK(::access(path.c_str(), F_OK) == 0);
  ::unlink(path.c_str());
  o.control = std::string(200, 'a');
  CHECK_THROWS_AS(admin::server(e, o), std::system_error);
  for (const char* wrong :
       {"9464", "localhost:9464", "127.0.0.1:", "127.0.0.1:99999", "::1:80", "[127.0.0.1]:80", ":80"}) {
    admin::options bad;
    bad.read_only = wrong;
    CHECK_THROWS_AS(admin::server(e, bad), std::invalid_argument);
  }
}

TEST_CASE("admin: another user is refused at the control socket") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  served on(small(1));
  ::chmod(socket_path().c_str(), 0666); // the mode alone is not what keeps others out
  const std::string path = socket_path();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const client c(path);
    ::_exit(c.connected() && ask(c, "GET /dump").empty() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(within(5s, [&] { return on.logged("user 65534: refused"); }));
  CHECK(is(on.control("GET /dump"), 200));
}

TEST_CASE("admin: of two servers that find a stale socket at once, one gets its name") {
  engine e(small(1));
  admin::options o;
  o.control = socket_path();
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    leave_stale(o.control);
    std::unique_ptr<admin::server> both[2];
    std::atomic<int> ready{0};
    {
      const auto make = [&](std::unique_ptr<admin::server>& made) {
        ++ready;
        while (ready != 2) std::this_thread::yield();
        try {
          made = std::make_unique<admin::server>(e, o);
        } catch (const std::system_error& error) {
          if (error.code().value() != EADDRINUSE) throw;
        }
      };
      const std::jthread first([&] { make(both[0]); });
      const std::jthread second([&] { make(both[1]); });
    }
    CHECK((both[0] == nullptr) != (both[1] == nullptr));
    CHECK(is(ask(client(o.control), "GET /dump", ""), 200));
  }
}

TEST_CASE("admin: the control socket of a relative path goes with its server, from whatever folder") {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path folder = socket_path() + ".d";
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  {
    engine e(small(1));
    admin::options o;
    o.control = "control";
    const admin::server server(e, o);
    CHECK(std::filesystem::exists(folder / "control"));
    std::filesystem::current_path("/");
  }
  CHECK_FALSE(std::filesystem::exists(folder / "control"));
  std::filesystem::current_path(before);
  std::filesystem::remove(folder);
}

TEST_CASE("admin: a child of a process fork that destroys the server keeps no address") {
  engine e(small(1));
  admin::options o;
  o.read_only = "127.0.0.1:0";
  auto server = std::make_unique<admin::server>(e, o);
  int said[2];
  int told[2];
  REQUIRE((::pipe(said) == 0 && ::pipe(told) == 0));
  const pid_t child = ::fork();
  if (child == 0) {
    server.reset();
    char byte = 0;
    static_cast<void>(::write(said[1], &byte, 1) + ::read(told[0], &byte, 1));
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(said[0], &byte, 1) == 1);
  o.read_only = "127.0.0.1:" + std::to_string(server->port());
  server.reset();
  CHECK_NOTHROW(server = std::make_unique<admin::server>(e, o));
  REQUIRE(::write(told[1], &byte, 1) == 1);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {said[0], said[1], told[0], told[1]}) ::close(fd);
}
