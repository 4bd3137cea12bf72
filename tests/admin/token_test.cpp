#include "asking.hpp"
#include "token.hpp"
#include "topology/temporary_tree.hpp"
#include "within.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

const std::string secret = "0123456789abcdef-secret";
const std::string host = "Host: localhost\r\n";

/// Returns an address of this machine that is none of the loopback's; 0: there is none.
in_addr_t address_elsewhere() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return 0;
  in_addr_t found = 0;
  for (const ifaddrs* i = first; i != nullptr && found == 0; i = i->ifa_next)
    if (i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_LOOPBACK) == 0)
      found = ntohl(reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr);
  ::freeifaddrs(first);
  return found;
}

std::string with(const std::string& token) { return host + "Authorization: Bearer " + token + "\r\n"; }

/// An engine whose admin server has a token, and the log.
struct guarded {
  explicit guarded(bool changes, bool for_all = false)
      : e(small(1)),
        server(e, options(*this, changes, for_all)) {}

  static admin::options options(guarded& self, bool changes, bool for_all) {
    admin::options o;
    o.read_only = "127.0.0.1:0";
    o.token = self.files.write("token", secret + "\nnot this\n");
    o.changes_by_tcp = changes;
    o.token_for_all = for_all;
    o.log = [&self](std::string_view line) {
      const std::scoped_lock lock(self.mutex);
      self.lines.emplace_back(line);
    };
    return o;
  }
  std::string ask(const std::string& line, const std::string& fields, const std::string& body = "") const {
    return tests::ask(client(server.port()), line, fields, body);
  }
  bool logged(const std::string& part) {
    const std::scoped_lock lock(mutex);
    for (const std::string& line : lines)
      if (has(line, part)) return true;
    return false;
  }

  temporary_tree files;
  std::mutex mutex;
  std::vector<std::string> lines;
  engine e;
  admin::server server;
};

} // namespace

TEST_CASE("admin token: with it a caller from elsewhere reads what operators do, and others do not") {
  guarded s(false);
  CHECK(is(s.ask("GET /metrics", host), 200));
  CHECK(is(s.ask("GET /metrics", with(secret)), 200));
  for (const char* path : {"/dump", "/profile", "/trace?seconds=1"}) {
    CAPTURE(path);
    const std::string refused = s.ask(std::string("GET ") + path, host);
    CHECK(is(refused, 401));
    CHECK(has(refused, "\r\nWWW-Authenticate: Bearer\r\n"));
    CHECK(is(s.ask(std::string("GET ") + path, with(secret)), 200));
  }
  CHECK(has(s.ask("GET /", with(secret)), "/profile\n"));
  CHECK_FALSE(has(s.ask("GET /", host), "/profile\n"));
  CHECK(s.logged("127.0.0.1 with the token: takes a trace"));
}

TEST_CASE("admin token: another one is refused, also where none is needed, and the log does not show it") {
  guarded s(false);
  for (const std::string& wrong : {secret + "x", secret.substr(1), std::string("0123456789abcdef-secreT"),
                                   std::string(), std::string("a b")}) {
    CAPTURE(wrong);
    CHECK(is(s.ask("GET /metrics", with(wrong)), 401));
    CHECK(is(s.ask("GET /dump", with(wrong)), 401));
  }
  CHECK(is(s.ask("GET /dump", host + "Authorization: Basic " + secret + "\r\n"), 401));
  CHECK(is(s.ask("GET /dump", host + "authorization: bearer " + secret + "\r\n"), 200));
  CHECK(s.logged("127.0.0.1: refused, it has shown another token"));
  CHECK_FALSE(s.logged("secret"));
}

TEST_CASE("admin token: a caller from an unlisted network reads with it, and does no more") {
  const in_addr_t elsewhere = address_elsewhere();
  if (elsewhere == 0) {
    MESSAGE("skipped: this machine has no address beside the loopback's");
    return;
  }
  guarded s(true);
  const auto from_there = [&](const std::string& line, const std::string& fields,
                              const std::string& body = "") {
    return tests::ask(client(s.server.port(), elsewhere), line, fields, body);
  };
  const std::string without = from_there("GET /metrics", host);
  CHECK(is(without, 401));
  CHECK(has(without, "\r\nWWW-Authenticate: Bearer\r\n"));
  CHECK(s.logged(": refused, it is in none of the networks and shows no token"));
  CHECK(is(from_there("GET /health/live", host), 401));
  CHECK(is(from_there("GET /metrics", with(secret + "x")), 401));
  for (const char* path : {"/metrics", "/load", "/health/ready"})
    CHECK(is(from_there(std::string("GET ") + path, with(secret)), 200));
  for (const char* path : {"/dump", "/profile", "/trace?seconds=1"})
    CHECK(is(from_there(std::string("GET ") + path, with(secret)), 404));
  CHECK(is(from_there("PUT /profile", with(secret), "name: from elsewhere\n"), 404));
  CHECK(s.e.configuration().name != "from elsewhere");

  admin::options o;
  o.read_only = "127.0.0.1:0";
  const admin::server without_token(s.e, o);
  CHECK(tests::ask(client(without_token.port(), elsewhere), "GET /metrics", with(secret)).empty());
}

TEST_CASE("admin token: idle connections from unlisted networks take no place from the others") {
  const in_addr_t elsewhere = address_elsewhere();
  if (elsewhere == 0) {
    MESSAGE("skipped: this machine has no address beside the loopback's");
    return;
  }
  const guarded s(false);
  std::vector<std::unique_ptr<client>> idle;
  for (int i = 0; i < 8; ++i) idle.push_back(std::make_unique<client>(s.server.port(), elsewhere));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) CHECK(client(s.server.port(), elsewhere).rest().empty());
  CHECK(std::chrono::steady_clock::now() - begin < 3s); // closed at once
  CHECK(is(s.ask("GET /metrics", host), 200));
  idle.clear();
  CHECK(within(5s, [&] {
    return is(tests::ask(client(s.server.port(), elsewhere), "GET /metrics", with(secret)), 200);
  }));
}

TEST_CASE("admin token: the own machine needs it as well where that is asked for") {
  const guarded s(false, true);
  for (const char* path : {"/metrics", "/health/live", "/"}) {
    CHECK(is(s.ask(std::string("GET ") + path, host), 401));
    CHECK_FALSE(is(s.ask(std::string("GET ") + path, with(secret)), 401));
  }
  CHECK(is(s.ask("GET /dump", with(secret)), 200));
}

TEST_CASE("admin token: a page of another site gets nothing, with the token either") {
  const guarded s(true);
  CHECK(is(s.ask("GET /dump", "Host: evil.example\r\nAuthorization: Bearer " + secret + "\r\n"), 403));
  CHECK(is(s.ask("GET /dump", with(secret) + "Origin: http://evil.example\r\n"), 403));
}

TEST_CASE("admin token: the profile is changed only where that is asked for") {
  const std::string next = "name: by tcp\nversion: 1\nworkers: {pin: none}\n";
  guarded closed(false);
  CHECK(is(closed.ask("PUT /profile", with(secret), next), 403));
  CHECK(closed.logged("127.0.0.1 with the token: refused a profile: changes by TCP are off"));
  guarded open(true);
  CHECK(is(open.ask("PUT /profile", host, next), 401));
  CHECK(open.e.configuration().name != "by tcp");
  CHECK(is(open.ask("PUT /profile", with(secret), next), 200));
  CHECK(open.e.configuration().name == "by tcp");
  CHECK(open.logged("127.0.0.1 with the token: changed the profile"));
  for (const char* file :
       {"topology: {source: {xml: /etc/passwd}}\n", "sharing: {file: /tmp/corewise_share}\n"})
    CHECK(is(open.ask("PUT /profile", with(secret), next + file), 422)); // it can name no file
}

TEST_CASE("admin token: a file that is not there, or has no token, is an error") {
  const temporary_tree files;
  CHECK_THROWS_AS(admin::token(files.root() / "none"), const std::system_error&);
  CHECK_THROWS_AS(admin::token(files.write("short", "0123456789abcde\n")), const std::invalid_argument&);
  CHECK_THROWS_AS(admin::token(files.write("empty", "")), const std::invalid_argument&);
  CHECK_THROWS_AS(admin::token(files.write("blank", "                         \n")),
                  const std::invalid_argument&);
  CHECK(admin::token(files.write("good", "0123456789abcdef \r\n")).is_in("Bearer 0123456789abcdef"));
  CHECK_FALSE(admin::token({}).is_in("Bearer "));
  engine e(small(1));
  admin::options o;
  o.token = files.root() / "good";
  CHECK_THROWS_AS(admin::server(e, o), const std::invalid_argument&);
  o.token.clear();
  o.read_only = "127.0.0.1:0";
  o.changes_by_tcp = true;
  CHECK_THROWS_AS(admin::server(e, o), const std::invalid_argument&);
  o.changes_by_tcp = false;
  o.token_for_all = true;
  CHECK_THROWS_AS(admin::server(e, o), const std::invalid_argument&);
}
