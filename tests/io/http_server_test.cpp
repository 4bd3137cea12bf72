#include "counts.hpp"
#include "server_process.hpp"
#include "within.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

// The server of examples/http_server.cpp.

using namespace std::chrono_literals;

namespace {

std::string requests(const std::string& target, int n) {
  std::string all;
  for (int i = 0; i < n; ++i) all += "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
  return all;
}

int count(const std::string& in, const std::string& what) {
  int found = 0;
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++found;
  return found;
}

/// A file of this process, which goes with the object.
class own_file {
 public:
  explicit own_file(const std::string& name)
      : path_("/tmp/corewise_http_server." + std::to_string(::getpid()) + "." + name) {
    write("");
  }
  own_file(const own_file&) = delete;
  own_file& operator=(const own_file&) = delete;
  ~own_file() { ::unlink(path_.c_str()); }

  const char* path() const { return path_.c_str(); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

/// Returns the hash of the profile in force.
std::string hash_in_force(const client& c) {
  const std::string metrics = c.ask("/metrics");
  const std::string before = "corewise_profile_info{hash=\"";
  const std::size_t at = metrics.find(before);
  REQUIRE(at != std::string::npos);
  return metrics.substr(at + before.size(), 8);
}

/// What became of requests.
struct outcomes {
  std::atomic<bool> told{false}; ///< the server was told to end
  std::atomic<int> whole{0};
  std::atomic<int> cut{0};
  std::atomic<int> left_out{0};       ///< nothing came, though the server had read the request
  std::atomic<int> empty{0};          ///< nothing came; it may not have been read
  std::atomic<int> reset{0};          ///< the kernel reset the connection before anything came
  std::atomic<int> without_reason{0}; ///< one of the last two, or no connection, before the server was told
};

/// Takes the whole responses off the beginning. Returns how many there are.
int take_whole(std::string& responses) {
  for (int n = 0;; ++n) {
    const std::size_t head = responses.find("\r\n\r\n");
    const std::size_t at = responses.find("Content-Length: ");
    if (head == std::string::npos || at >= head) return n;
    const std::size_t size = head + 4 + std::stoul(responses.substr(at + 16));
    if (responses.size() < size) return n;
    responses.erase(0, size);
  }
}

/// Asks for `at_once` responses in one segment, again and again. The server reads a segment whole: where the first response
/// has come, it has read the other requests.
void ask_until_told(std::uint16_t port, const std::string& target, int at_once, outcomes& of) {
  for (;;) {
    const client c(port);
    if (!c.connected()) {
      if (!of.told) ++of.without_reason;
      return;
    }
    bool goes_on = true;
    for (int n = 0; n < 20 && goes_on; ++n) {
      errno = 0;
      const bool is_sent = c.send(requests(target, at_once));
      int answered = 0;
      std::string got; // behind the whole responses
      while (is_sent && answered < at_once) {
        const std::string more = c.some();
        if (more.empty()) break;
        got += more;
        goes_on = goes_on && got.find("Connection: close") == std::string::npos;
        answered += take_whole(got);
      }
      const bool is_reset = errno == ECONNRESET || errno == EPIPE;
      of.whole += answered;
      if (answered == at_once) continue;
      goes_on = false;
      if (!got.empty())
        ++of.cut;
      else if (answered > 0)
        ++of.left_out;
      else {
        ++(is_reset ? of.reset : of.empty);
        if (!of.told) ++of.without_reason;
      }
    }
  }
}

} // namespace

TEST_CASE("http_server: its routes, one after another on one connection") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client c(server.port());
  for (int i = 0; i < 3; ++i) {
    CHECK(c.ask("/").find("\r\n\r\nhello\n") != std::string::npos);
    CHECK(c.ask("/primes").find("\r\n\r\n2262\n") != std::string::npos);
    CHECK(c.ask("/metrics").find("\ncorewise_health{state=\"ok\"} 1\n") != std::string::npos);
    CHECK(c.ask("/file").find("\r\n\r\nread\n") != std::string::npos);
    CHECK(c.ask("/nothing").find("404") != std::string::npos);
  }
  server.signal(SIGHUP);
  CHECK(c.ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: SIGHUP puts the profile's file in force, and a broken file leaves it as it was") {
  const own_file profile("yaml");
  const own_file errors("errors");
  const std::string one = "version: 1\nsteal: {batch_max: 10}\n";
  const std::string other = "version: 1\nsteal: {batch_max: 11}\n";
  profile.write(one);
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/", profile.path(), errors.path());
  const client c(server.port());
  const std::string of_one = hash_in_force(c);
  const auto says_at = [&](int times, const std::string& what) {
    server.signal(SIGHUP);
    return within(30s, [&] { return count(errors.read(), what) == times; });
  };
  profile.write(other);
  CHECK(says_at(1, "reloaded\n"));
  const std::string of_other = hash_in_force(c);
  CHECK(of_other != of_one);
  profile.write("version: 1\nsteal: {batch_max: few}\n");
  CHECK(says_at(1, std::string(profile.path()) + ":2:20: steal.batch_max: found \"few\""));
  CHECK(hash_in_force(c) == of_other);
  profile.write(one);
  CHECK(says_at(2, "reloaded\n"));
  CHECK(hash_in_force(c) == of_one);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: it tells its load in the form in which a client asks for it") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client c(server.port());
  const auto load = [&](const std::string& field) {
    REQUIRE(c.send("GET / HTTP/1.1\r\nHost: x\r\n" + field + "\r\n"));
    return c.response();
  };
  const std::string field = "endpoint-load-metrics: ";
  CHECK(load("").find("endpoint-load") == std::string::npos);
  CHECK(load("endpoint-load-metrics-format: TEXT\r\n").find(field + "TEXT cpu_utilization=") !=
        std::string::npos);
  const std::string json = load("endpoint-load-metrics-format: JSON\r\n");
  CHECK(json.find(field + "JSON {\"cpu_utilization\":") != std::string::npos);
  CHECK(json.find("\"named_metrics\":{\"in_flight\":1,") != std::string::npos); // this one
}

TEST_CASE("http_server: clients that send nonsense, a part, or nothing") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  {
    const client c(server.port());
    REQUIRE(c.send("NONSENSE\r\n\r\n"));
    CHECK(c.response().find("400") != std::string::npos);
  }
  {
    const client c(server.port());
    for (const char byte : std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
      REQUIRE(c.send(std::string(1, byte)));
    CHECK(c.response().find("hello") != std::string::npos);
  }
  {
    const client c(server.port());
    REQUIRE(c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    c.end_of_sending(); // half closed
    CHECK(c.response().find("hello") != std::string::npos);
  }
  {
    const client c(server.port());
    REQUIRE(c.send("GET / HT")); // and goes
  }
  {
    const client c(server.port());
    REQUIRE(c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"));
    CHECK(c.response().find("HTTP/1.1 4") == 0);
  }
  CHECK(client(server.port()).ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: clients that reset their connections harm no other") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client other(server.port());
  for (int i = 0; i < 200; ++i) {
    client c(server.port());
    REQUIRE(c.connected());
    if (i % 4 != 0) REQUIRE(c.send(requests("/file", i % 4))); // and does not wait for it
    if (i % 8 > 4) std::this_thread::sleep_for(3ms);           // while the server blocks for the first
    c.reset_at_end();
    if (i % 20 == 0) CHECK(other.ask("/").find("hello") != std::string::npos);
  }
  CHECK(other.ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: at SIGTERM it answers all requests that it has read") {
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client c(server.port());
  REQUIRE(c.send(requests("/file", 40))); // one segment, which it reads at once; 5 ms each
  std::string got = c.some();
  REQUIRE(!got.empty());
  CHECK(server.end(SIGTERM) == 0);
  got += c.rest();
  CHECK(count(got, "\r\n\r\nread\n") == 40);
  CHECK(count(got, "Connection: close") == 1);
}

TEST_CASE("http_server: SIGTERM under load cuts no response in two, and leaves out none that it has begun to "
          "read") {
  outcomes all;
  for (int round = 0; round < corewise::tests::count_of(20, 100); ++round) {
    server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
    outcomes of;
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
      clients.emplace_back(
          [&, i] { ask_until_told(server.port(), i % 4 == 0 ? "/file" : "/", i % 2 + 1, of); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 5 * (round % 20)));
    of.told = true;
    CHECK(server.end(SIGTERM) == 0);
    for (std::thread& t : clients) t.join();
    CHECK(of.cut.load() == 0);
    CHECK(of.left_out.load() == 0);
    CHECK(of.without_reason.load() == 0);
    all.whole += of.whole;
    all.empty += of.empty;
    all.reset += of.reset;
  }
  CHECK(all.whole > 0);
  MESSAGE(all.whole.load(), " whole, ", all.empty.load(), " without an answer, ", all.reset.load(), " reset");
}
