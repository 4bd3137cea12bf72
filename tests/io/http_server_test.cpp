#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// The server of examples/http_server.cpp, as a process of its own, and clients of plain sockets.

using namespace std::chrono_literals;

namespace {

class server_process {
 public:
  server_process() {
    std::array<int, 2> output{};
    REQUIRE(::pipe(output.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      ::close(output[0]);
      ::execl(COREWISE_HTTP_SERVER, "http_server", "0", nullptr);
      ::_exit(127);
    }
    ::close(output[1]);
    out_ = ::fdopen(output[0], "r");
    unsigned port = 0;
    REQUIRE(std::fscanf(out_, "http://127.0.0.1:%u/", &port) == 1);
    port_ = static_cast<std::uint16_t>(port);
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    if (process_ > 0) static_cast<void>(end(SIGKILL));
    std::fclose(out_);
  }

  void signal(int number) const { ::kill(process_, number); }
  /// Returns its exit status.
  int end(int number) {
    signal(number);
    int status = 0;
    ::waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::uint16_t port() const { return port_; }

 private:
  pid_t process_ = -1;
  std::FILE* out_ = nullptr;
  std::uint16_t port_ = 0;
};

class client {
 public:
  explicit client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(fd_); }

  bool connected() const { return connected_; }
  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void end_of_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// Returns what comes, up to the end of a response, or of the connection.
  std::string response() const {
    std::string all;
    std::array<char, 4096> bytes{};
    for (;;) {
      const std::size_t head = all.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = all.find("Content-Length: ");
        if (at != std::string::npos && all.size() >= head + 4 + std::stoul(all.substr(at + 16))) return all;
      }
      const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (n <= 0) return all;
      all.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }
  std::string ask(const std::string& path) const {
    if (!send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")) return "";
    return response();
  }

 private:
  int fd_;
  bool connected_ = false;
};

bool is_whole(const std::string& response) {
  const std::size_t head = response.find("\r\n\r\n");
  const std::size_t at = response.find("Content-Length: ");
  return head != std::string::npos && at != std::string::npos &&
         response.size() == head + 4 + std::stoul(response.substr(at + 16));
}

} // namespace

TEST_CASE("http_server: its routes, one after another on one connection") {
  server_process server;
  const client c(server.port());
  for (int i = 0; i < 3; ++i) {
    CHECK(c.ask("/").find("\r\n\r\nhello\n") != std::string::npos);
    CHECK(c.ask("/primes").find("\r\n\r\n2262\n") != std::string::npos);
    CHECK(c.ask("/file").find("\r\n\r\nread\n") != std::string::npos);
    CHECK(c.ask("/nothing").find("404") != std::string::npos);
  }
  server.signal(SIGHUP);
  CHECK(c.ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: clients that send nonsense, a part, or nothing") {
  server_process server;
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
  std::minstd_rand random(12345);
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < until) {
    std::string noise = random() % 2 == 0 ? "GET / HTTP/1.1\r\n" : "";
    for (std::size_t i = random() % 200; i > 0; --i) noise += static_cast<char>(random() % 256);
    noise += "\r\n\r\n";
    const client c(server.port());
    static_cast<void>(c.send(noise));
    c.end_of_sending();
    static_cast<void>(c.response());
  }
  CHECK(client(server.port()).ask("/").find("hello") != std::string::npos);
  CHECK(server.end(SIGTERM) == 0);
}

TEST_CASE("http_server: SIGTERM under load cuts no response in two") {
  std::atomic<int> whole{0};
  for (int round = 0; round < 20; ++round) {
    server_process server;
    std::atomic<bool> told{false};
    std::atomic<int> cut{0};
    std::atomic<int> refused_before{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
      clients.emplace_back([&, i] {
        for (;;) {
          const client c(server.port());
          if (!c.connected()) {
            if (!told) ++refused_before;
            return;
          }
          for (int n = 0; n < 20; ++n) {
            const std::string got = c.ask(i % 4 == 0 ? "/file" : "/");
            if (is_whole(got))
              ++whole;
            else if (!got.empty())
              ++cut;
            else if (!told)
              ++refused_before;
            if (!is_whole(got)) break;
            if (got.find("Connection: close") != std::string::npos) break;
          }
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 5 * round));
    told = true;
    CHECK(server.end(SIGTERM) == 0);
    for (std::thread& t : clients) t.join();
    CHECK(cut == 0);
    CHECK(refused_before == 0);
  }
  CHECK(whole > 0);
}
