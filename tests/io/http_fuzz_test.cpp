#include "counts.hpp"
#include "server_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

// What no good client sends, at the edge of examples/http_server.cpp: noise, and valid requests that were altered.
// `./test fuzz` sends it for a minute. The environment may say for how long (COREWISE_FUZZ_SECONDS), and give the seed of
// a run that failed (COREWISE_SEED).

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::string_view, 8> valid_requests{
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /primes HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
    "GET /file HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nendpoint-load-metrics-format: JSON\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0\r\nLast: "
    "x\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nUpgrade: websocket\r\nContent-Length: "
    "3\r\n\r\nabc"};
constexpr std::array<std::string_view, 9> names{
    "Content-Length", "Transfer-Encoding",     "Connection", "Expect", "Upgrade",
    "Host",           "endpoint-load-metrics", "Trailer",    ""};
constexpr std::array<std::string_view, 13> values{
    "0",       "1",     "-1",   "4096", "1000001", "4294967296", "18446744073709551616", "0x10",
    "chunked", "close", "JSON", "5, 5", ""};

/// Makes inputs, the same ones from the same seed.
class inputs {
 public:
  explicit inputs(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return random_() % bound; }
  /// Returns at most a kilobyte, which the kernel takes whole: sending never waits.
  std::string next() { return below(2) == 0 ? noise() : altered(); }

 private:
  std::string bytes(std::size_t n) {
    std::string all;
    for (; n > 0; --n) all += static_cast<char>(below(256));
    return all;
  }
  std::string noise() {
    std::string all = below(2) == 0 ? "GET / HTTP/1.1\r\n" : "";
    all += bytes(below(200));
    return all + "\r\n\r\n";
  }
  template <std::size_t N> std::string_view one_of(const std::array<std::string_view, N>& all) {
    return all[below(N)];
  }
  std::string altered() {
    std::string request(one_of(valid_requests));
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) alter(request);
    return request;
  }
  void alter(std::string& request) {
    const std::size_t at = below(request.size() + 1);
    const std::size_t size = below(100);
    switch (below(6)) {
    case 0: // a bit is another
      if (at < request.size()) request[at] = static_cast<char>(request[at] ^ (1 << below(8)));
      break;
    case 1: request.insert(at, bytes(1 + below(8))); break;
    case 2: request.insert(at, request.substr(at, size)); break; // a part comes twice
    case 3: request.erase(at, size); break;
    case 4: add_field(request, at); break;
    default: change_length(request, at); break;
    }
  }
  /// Adds a field of the header behind the next line.
  void add_field(std::string& request, std::size_t at) {
    const std::size_t line = request.find("\r\n", at);
    if (line == std::string::npos) return;
    std::string field(one_of(names));
    field.append(": ").append(one_of(values)).append("\r\n");
    request.insert(line + 2, field);
  }
  /// Puts a value in the place of the next number.
  void change_length(std::string& request, std::size_t at) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t from = request.find_first_of(digits, at);
    if (from == std::string::npos) return;
    const std::size_t to = request.find_first_not_of(digits, from);
    request.replace(from, to == std::string::npos ? to : to - from, one_of(values));
  }

  std::mt19937 random_;
};

std::uint32_t drawn_seed() {
  const char* const given = std::getenv("COREWISE_SEED");
  return given == nullptr ? std::random_device{}() : static_cast<std::uint32_t>(std::stoul(given));
}

std::chrono::seconds fuzzing_time() {
  const char* const given = std::getenv("COREWISE_FUZZ_SECONDS");
  return given == nullptr ? corewise::tests::count_of(2s, 60s) : std::chrono::seconds{std::stoul(given)};
}

} // namespace

TEST_CASE("http_server: noise and altered requests harm no other client, and each connection ends") {
  const std::uint32_t seed = drawn_seed();
  MESSAGE("COREWISE_SEED=", seed, " repeats this"); // also where the server hangs
  CAPTURE(seed);
  inputs all(seed);
  server_process server(COREWISE_HTTP_SERVER, "http://127.0.0.1:%u/");
  const client good(server.port());
  good.give_up_after(60s);
  const auto until = std::chrono::steady_clock::now() + fuzzing_time();
  std::uint32_t n = 0;
  for (; std::chrono::steady_clock::now() < until; ++n) {
    const std::string input = all.next();
    const std::size_t first = all.below(4) == 0 ? all.below(input.size() + 1) : input.size();
    const bool resets = all.below(8) == 0;
    CAPTURE(n);
    CAPTURE(input);
    // From many addresses: a minute needs more ports than one has.
    const client c(server.port(), INADDR_LOOPBACK + 1 + n % 200);
    REQUIRE(c.connected());
    static_cast<void>(c.send(input.substr(0, first)) && c.send(input.substr(first)));
    if (resets) {
      c.reset_at_end();
    } else {
      c.give_up_after(60s);
      c.end_of_sending();
      errno = 0;
      const std::string got = c.rest(); // until the server closes
      REQUIRE(errno != EAGAIN);
      REQUIRE((got.empty() || got.starts_with("HTTP/")));
    }
    if (n % 50 == 0) REQUIRE(good.ask("/").find("hello") != std::string::npos);
  }
  MESSAGE(n, " inputs");
  CHECK(client(server.port()).ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}
