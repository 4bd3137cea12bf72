#include "served_engine.hpp"
#include "within.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

// The subcommands that ask a running engine: health, dump, reload; what all of them do about tokens and addresses.

using namespace corewise::tests;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// A server that answers one connection with these bytes, whatever it is asked.
class other_server {
 public:
  explicit other_server(std::string bytes) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(fd_, 1) == 0);
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this, bytes = std::move(bytes)] {
      const int peer = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      std::array<char, 4096> asked{};
      static_cast<void>(::recv(peer, asked.data(), asked.size(), 0));
      if (bytes == "wait")
        while (::recv(peer, asked.data(), asked.size(), 0) > 0) continue;
      else
        static_cast<void>(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      ::close(peer);
    });
  }
  other_server(const other_server&) = delete;
  other_server& operator=(const other_server&) = delete;
  ~other_server() {
    thread_.join();
    ::close(fd_);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

} // namespace

TEST_CASE("health: ok, degraded and wedged have their words and exit statuses") {
  served d;
  CHECK(d.control("health").out == "ok\n");
  CHECK(d.read("health").status == 0);
  d.stand("first");
  const outcome degraded = d.read("health");
  CHECK(degraded.status == 1);
  CHECK(contains(degraded.out, "degraded\n1 of 2 workers run tasks that do not end"));
  CHECK(d.read("health --live").status == 0);
  d.stand("second");
  CHECK(d.engine.submit([] {}) == corewise::submit_result::accepted);
  outcome wedged;
  CHECK(within(60s, [&] {
    wedged = d.control("health --live");
    return wedged.status == 1;
  }));
  CHECK(contains(wedged.out, "wedged\n"));
}

TEST_CASE("dump: the control socket has it, as text and as JSON, and a read-only address has not") {
  served d;
  d.stand("the <long> task");
  const outcome text = d.control("dump");
  CHECK(text.status == 0);
  CHECK(contains(text.out, "(the <long> task) for "));
  CHECK(contains(text.out, ", stuck\n"));
  for (const char* form : {"dump --format json", "dump --json"}) {
    const json page = json::parse(d.control(form).out, nullptr, false);
    REQUIRE(page["seats"].size() == 2);
    CHECK((page["seats"][0]["task_name"] == "the <long> task" ||
           page["seats"][1]["task_name"] == "the <long> task"));
  }
  const outcome hidden = d.read("dump");
  CHECK(hidden.status == 1);
  CHECK(hidden.out.empty());
  CHECK(contains(hidden.err, "a read-only address has no /dump; connect to the control socket"));
}

TEST_CASE(
    "trace: the control socket gives one, in both forms, into a file that it does not overwrite unasked") {
  served d;
  d.stand("the <long> task");
  const outcome perfetto = d.control("trace --output daemon.perfetto");
  CHECK(perfetto.status == 0);
  CHECK(contains(perfetto.out, "daemon.perfetto: "));
  const outcome again = d.control("trace --output daemon.perfetto");
  CHECK(again.status == 1);
  CHECK(contains(again.err, "daemon.perfetto"));
  CHECK(d.control("trace --json --force --output daemon.perfetto").status == 0);
  const json page = json::parse(d.shell.run("cat daemon.perfetto").out, nullptr, false);
  CHECK(page["traceEvents"].is_array());
  const outcome hidden = d.read("trace --output other");
  CHECK(hidden.status == 1);
  CHECK(contains(hidden.err, "a read-only address has no /trace; connect to the control socket"));
  CHECK(d.control("trace --seconds 61 --output other").status == 2);
  for (const std::string to : {"-", "/dev/stdout"})
    for (const std::string where : {"> piped.json", "| cat > piped.json"}) {
      const outcome piped =
          d.shell.run("corewise trace --json --connect c.sock --output " + to + " " + where);
      CAPTURE(to);
      CAPTURE(where);
      CHECK(piped.status == 0);
      CHECK(contains(piped.err, " bytes, for https://ui.perfetto.dev\n"));
      CHECK(json::parse(d.shell.run("cat piped.json").out, nullptr, false)["traceEvents"].is_array());
    }
}

TEST_CASE("reload: a profile holds, for good or on trial, or is refused with all errors") {
  served d;
  d.shell.write("good.yaml", two_workers + "queues: {budget: 77}\n");
  d.shell.write("trial.yaml", two_workers + "queues: {budget: 88}\n");
  d.shell.write("bad.yaml", two_workers + "queues: {budgte: 1}\nidle: {park_timeout: soon}\n");
  d.shell.write("fixed.yaml", two_workers + "queues: {local: 16}\n");
  const outcome good = d.control("reload good.yaml");
  CHECK(good.status == 0);
  CHECK(good.out == "applied\n");
  CHECK(d.engine.configuration().queues.budget == 77);
  CHECK(d.shell.run("corewise reload - --connect c.sock < good.yaml").status == 0);

  const outcome bad = d.control("reload bad.yaml");
  CHECK(bad.status == 1);
  CHECK(bad.out.empty());
  CHECK(contains(bad.err, "bad.yaml:3:10: queues.budgte: found an unknown key"));
  CHECK(contains(bad.err, "\nbad.yaml:4:22: idle.park_timeout: found \"soon\""));
  CHECK(!bad.err.ends_with("\n\n"));
  const outcome fixed = d.control("reload fixed.yaml");
  CHECK(fixed.status == 1);
  CHECK(contains(fixed.err, "queues.local: found \"16\""));

  const outcome trial = d.control("reload trial.yaml --revert-after 1s");
  CHECK(trial.out == "applied for 1 s, unless another one comes\n");
  while (d.engine.configuration().queues.budget != 77) std::this_thread::sleep_for(10ms); // it comes back

  CHECK(contains(d.read("reload good.yaml").err, "a read-only address has no /profile"));
  const outcome missing = d.control("reload nowhere.yaml");
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "nowhere.yaml: No such file"));
  d.shell.write("large.yaml", two_workers + "#" + std::string(300'000, 'x'));
  CHECK(contains(d.control("reload large.yaml").err, "status 413"));
  for (const char* time : {"0s", "1", "s", "1d", "25h", "1441m", "86401s", "-1s", "4294967297s"})
    CHECK(d.control(std::string("reload good.yaml --revert-after ") + time).status == 2);
}

TEST_CASE("reload: a relative path of the machine's XML is explained") {
  const scratch_shell shell;
  shell.run("cp '" COREWISE_RECORDED_MACHINES "/three_arm_kinds.xml' m.xml");
  shell.write("p.yaml", "topology: {source: {xml: m.xml}}\nworkers: {pin: none}\n");
  corewise::engine e(corewise::load_profile(shell.directory() / "work/p.yaml"));
  corewise::admin::options o;
  o.control = shell.directory() / "work/c.sock";
  const corewise::admin::server server(e, o);
  const outcome refused = shell.run("corewise reload p.yaml --connect c.sock");
  CHECK(refused.status == 1);
  CHECK_MESSAGE(contains(refused.err, "topology.source.xml: found \"m.xml\"; the engine runs with \"/"),
                refused.err);
  CHECK(contains(refused.err, "begins at the directory of the daemon, not at the folder of the file"));
  CHECK(shell.run("sed \"s|m.xml|$PWD/m.xml|\" p.yaml | corewise reload - --connect c.sock").status == 0);
}

TEST_CASE("with the token a read-only address answers all commands, and without it says what is missing") {
  served d("0123456789abcdef-secret");
  d.stand("the <long> task");
  d.shell.write("good.yaml", two_workers + "queues: {budget: 77}\n");
  d.shell.write("wrong", "0123456789abcdef-another");
  for (const char* command : {"dump", "trace --output t", "reload good.yaml"}) {
    CAPTURE(command);
    const outcome without = d.read(command);
    CHECK(without.status == 1);
    CHECK_MESSAGE(contains(without.err, " needs the token; name its file with --token, or connect to"),
                  without.err);
    const outcome with = d.read(std::string(command) + " --token token");
    CHECK_MESSAGE(with.status == 0, with.err);
  }
  CHECK(contains(d.read("dump --token token").out, "(the <long> task) for "));
  CHECK(d.engine.configuration().queues.budget == 77);
  CHECK(contains(d.read("top --once --token token").out, "  the <long> task\n"));
  CHECK(contains(d.read("top --once").out,
                 "stuck    1 worker  the control socket has the names of the tasks\n"));
  for (const char* command : {"health", "dump", "top --once", "trace --output other", "reload good.yaml"}) {
    CAPTURE(command);
    const outcome wrong = d.read(std::string(command) + " --token wrong");
    CHECK(wrong.status == 1);
    CHECK_MESSAGE(contains(wrong.err, ": the token is another one than the server's\n"), wrong.err);
    CHECK_FALSE(contains(wrong.err, "0123456789abcdef"));
    CHECK(contains(d.read(std::string(command) + " --token nowhere").err, "nowhere: No such file"));
  }
  d.shell.write("short", "0123");
  CHECK(contains(d.read("health --token short").err, "short: the first line is no token"));
  CHECK(contains(d.control("dump --token token").out, "(the <long> task) for ")); // where none is needed
  CHECK(contains(served().read("dump --token " + (d.shell.directory() / "work/token").string()).err,
                 "there is no /dump for you; the server has no token"));
}

TEST_CASE("where no engine answers, the exit status is 3 and the reason is said") {
  const scratch_shell shell;
  const auto refused = [&](const std::string& address, const std::string& why) {
    for (const char* command : {"health", "dump", "top --once", "trace --output t", "reload - </dev/null"}) {
      const outcome none = shell.run(std::string("corewise ") + command + " --connect " + address);
      CAPTURE(command);
      CHECK(none.status == 3);
      CHECK(none.out.empty());
      CHECK_MESSAGE(contains(none.err, why), none.err);
    }
  };
  shell.write("file", "text");
  refused("./nowhere.sock", "./nowhere.sock: there is no such socket; does the daemon run");
  refused("file", "file: this is no socket");
  refused(".", ".: this is no socket");
  refused("127.0.0.1:1", "127.0.0.1:1: nothing listens there");
  refused(std::string(200, 'a'), "the path is too long for a socket");
  const int stale = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  (shell.directory() / "work/s").string().copy(at.sun_path, sizeof at.sun_path - 1);
  REQUIRE(::bind(stale, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  ::close(stale);
  refused("s", "s: nothing listens there; the daemon that made this socket has ended");
}

TEST_CASE("what answers but is no admin server is refused") {
  const auto refused = [](const std::string& bytes, const std::string& why) {
    const other_server other(bytes);
    const outcome none = run("corewise health --connect " + other.address());
    CAPTURE(bytes);
    CHECK(none.status == 3);
    CHECK_MESSAGE(contains(none.err, why), none.err);
  };
  refused("SSH-2.0-OpenSSH_9\r\n", "is no admin server");
  refused("HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 3\r\n\r\nok\n", "no admin server of corewise");
  refused("HTTP/1.1 200 OK\r\nServer: corewise\r\nContent-Length: 30\r\n\r\nok\n", "the answer breaks off");
  refused("", "closed without an answer");
  refused("wait", "no answer within 5 s");
}

TEST_CASE("another user is told that the control socket is not theirs") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  const served d;
  const outcome other = d.shell.run(
      "cp \"$(command -v corewise)\" . && setpriv --reuid 65534 ./corewise health --connect c.sock");
  CHECK(other.status == 3);
  CHECK(contains(other.err,
                 "c.sock: permission denied; a control socket is for the user of its process, and root"));
}

TEST_CASE("a port that no host has is refused as wrong usage") {
  const served d;
  const int port = d.server.port();
  for (const char* command : {"health", "dump", "top --once", "trace --output t", "reload - </dev/null"})
    for (const int wrong : {0, 65536, port + 65536, 123456}) {
      const std::string address = "127.0.0.1:" + std::to_string(wrong);
      const outcome refused = d.shell.run(std::string("corewise ") + command + " --connect " + address);
      CAPTURE(command);
      CAPTURE(address);
      CHECK(refused.status == 2);
      CHECK(contains(refused.err, "with a port from 1 to 65535"));
    }
  CHECK(d.shell.run("corewise health --connect ./c.sock:70000").status == 3); // a path
}

TEST_CASE("the commands that ask an engine want an address") {
  for (const std::string command : {"health", "dump", "reload profile.yaml", "reload --connect c.sock"}) {
    const outcome wrong = run("corewise " + command);
    CHECK(wrong.status == 2);
    CHECK(contains(wrong.err, "--help"));
  }
}
