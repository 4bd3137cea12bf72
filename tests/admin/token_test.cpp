#include "asking.hpp"
#include "token.hpp"
#include "topology/temporary_tree.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using namespace corewise;
using namespace corewise::tests;

namespace {

const std::string secret = "0123456789abcdef-secret";
const std::string host = "Host: localhost\r\n";

std::string with(const std::string& token) { return host + "Authorization: Bearer " + token + "\r\n"; }

/// An engine whose admin server has a token, and the log.
struct guarded {
  explicit guarded(bool changes) : e(small(1)), server(e, options(*this, changes)) {}

  static admin::options options(guarded& self, bool changes) {
    admin::options o;
    o.read_only = "127.0.0.1:0";
    o.token = self.files.write("token", secret + "\nnot this\n");
    o.changes_by_tcp = changes;
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
}
