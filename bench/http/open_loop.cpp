#include <netinet/in.h>
#include <netinet/tcp.h>
#include <open_loop/workload.hpp>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

// A client whose requests arrive at a given rate (Poisson), however fast the server answers. A latency counts from the
// time at which the request was to arrive. So the time counts that a request waits in the client because all
// connections are busy, or because the client itself is late (no coordinated omission).
//
//     http_open_loop PORT --rate N [--connections N] [--seconds S] [--seed N] [--light PATH]
//                    [--heavy PATH --heavy-share PART]
//
// Prints one line of JSON: responses a second, quantiles of the light and the heavy requests' latencies in us, and how
// late the client itself was to see arrivals. Requests of the first half second are not in it. One thread does
// everything, and sleeps until the next arrival or response.

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using corewise::bench::quantile;
using corewise::bench::open_loop::draw;

constexpr auto warm_up = 500ms;
constexpr auto patience = 10s; ///< after the last arrival

struct options {
  std::uint16_t port = 0;
  double rate = 0; ///< requests a second
  std::size_t connections = 64;
  double seconds = 2; ///< after the warm-up
  std::uint64_t seed = 1;
  std::string light = "/";
  std::string heavy;
  double heavy_share = 0;
};

options options_of(int count, char** words) {
  options o;
  bool right = count % 2 == 0;
  if (right) o.port = static_cast<std::uint16_t>(std::atoi(words[1]));
  for (int i = 2; right && i < count; i += 2) {
    const std::string_view name = words[i];
    const char* const value = words[i + 1];
    if (name == "--rate")
      o.rate = std::strtod(value, nullptr);
    else if (name == "--connections")
      o.connections = std::strtoull(value, nullptr, 10);
    else if (name == "--seconds")
      o.seconds = std::strtod(value, nullptr);
    else if (name == "--seed")
      o.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--light")
      o.light = value;
    else if (name == "--heavy")
      o.heavy = value;
    else if (name == "--heavy-share")
      o.heavy_share = std::strtod(value, nullptr);
    else
      right = false;
  }
  if (!right || o.port == 0 || !(o.rate > 0) || o.connections == 0 || !(o.seconds > 0) ||
      (o.heavy_share > 0) == o.heavy.empty()) {
    std::fputs(
        "usage: http_open_loop PORT --rate N [--connections N] [--seconds S] [--seed N] [--light PATH]\n"
        "                      [--heavy PATH --heavy-share PART]\n",
        stderr);
    std::exit(2);
  }
  return o;
}

struct request {
  clock::duration due; ///< from the beginning
  bool is_heavy;
  clock::duration seen{}; ///< by the client, from the beginning
  clock::duration latency{};
};

std::vector<request> schedule_of(const options& o) {
  draw next(o.seed);
  std::vector<request> all;
  const std::chrono::duration<double> end = warm_up + std::chrono::duration<double>(o.seconds);
  for (std::chrono::duration<double> due{}; due < end;) {
    all.push_back({std::chrono::duration_cast<clock::duration>(due), next() < o.heavy_share});
    due -= std::chrono::duration<double>(std::log(1 - next()) / o.rate);
  }
  return all;
}

std::string text_of(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

/// Returns whether the response is whole. Throws for one that is not the response to one request.
bool is_whole(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  constexpr std::string_view name = "\r\ncontent-length:";
  const char* const found = ::strcasestr(response.c_str(), name.data());
  if (!response.starts_with("HTTP/1.1 200 ") || found == nullptr || found > response.c_str() + end)
    throw std::runtime_error("an unexpected response: " + response.substr(0, end));
  const std::size_t whole = end + 4 + std::strtoull(found + name.size(), nullptr, 10);
  if (response.size() > whole) throw std::runtime_error("more than was asked for");
  return response.size() == whole;
}

/// A connection, which has one request at a time.
class connection {
 public:
  explicit connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
      throw std::runtime_error("cannot connect");
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { ::close(fd_); }

  int fd() const { return fd_; }

  void send(request& r, const std::string& text) {
    asked_ = &r;
    if (::send(fd_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
      throw std::runtime_error("cannot send");
  }

  /// Receives what has come. Returns the request if its response is whole.
  request* receive() {
    char bytes[8192];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0) throw std::runtime_error("the server ended a connection");
    if (asked_ == nullptr) throw std::runtime_error("more than was asked for");
    received_.append(bytes, static_cast<std::size_t>(n));
    if (!is_whole(received_)) return nullptr;
    received_.clear();
    return std::exchange(asked_, nullptr);
  }

 private:
  int fd_;
  request* asked_ = nullptr;
  std::string received_;
};

class client {
 public:
  explicit client(const options& o)
      : light_(text_of(o.light)),
        heavy_(text_of(o.heavy)),
        schedule_(schedule_of(o)),
        pick_(o.seed) {
    for (std::size_t i = 0; i < o.connections; ++i) {
      connections_.push_back(std::make_unique<connection>(o.port));
      epoll_event wanted{EPOLLIN, {.ptr = connections_.back().get()}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_.back()->fd(), &wanted) != 0)
        throw std::runtime_error("no epoll");
      idle_.push_back(connections_.back().get());
    }
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(epoll_); }

  /// Sends all requests and receives their responses. Returns them, and how long it took.
  std::pair<const std::vector<request>&, clock::duration> run() {
    const auto began = clock::now();
    std::size_t answered = 0;
    for (std::size_t due = 0, sent = 0; answered < schedule_.size();) {
      const clock::duration now = clock::now() - began;
      while (due < schedule_.size() && schedule_[due].due <= now) schedule_[due++].seen = now;
      for (; sent < due && !idle_.empty(); ++sent)
        take_idle().send(schedule_[sent], schedule_[sent].is_heavy ? heavy_ : light_);
      const clock::duration until =
          due < schedule_.size() ? schedule_[due].due : schedule_.back().due + patience;
      if (due == schedule_.size() && now > until)
        throw std::runtime_error(std::to_string(schedule_.size() - answered) +
                                 " requests had no response 10 s after the last");
      answered += receive(until - (clock::now() - began), began);
    }
    return {schedule_, clock::now() - began};
  }

 private:
  /// At random, so that no thread of the server is favoured by the connections that it serves.
  connection& take_idle() {
    std::swap(idle_[static_cast<std::size_t>(pick_() * static_cast<double>(idle_.size()))], idle_.back());
    connection& taken = *idle_.back();
    idle_.pop_back();
    return taken;
  }

  /// Waits for responses, for at most so long. Returns how many became whole.
  std::size_t receive(clock::duration at_most, clock::time_point began) {
    const auto ns = std::max<std::int64_t>(0, std::chrono::nanoseconds(at_most).count());
    const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
    epoll_event ready[64];
    const int n = ::epoll_pwait2(epoll_, ready, 64, &limit, nullptr);
    if (n < 0 && errno != EINTR) throw std::runtime_error("epoll_pwait2 fails; it needs Linux 5.11");
    std::size_t whole = 0;
    for (int i = 0; i < n; ++i) {
      connection* const from = static_cast<connection*>(ready[i].data.ptr);
      request* const ended = from->receive();
      if (ended == nullptr) continue;
      ended->latency = clock::now() - began - ended->due;
      idle_.push_back(from);
      ++whole;
    }
    return whole;
  }

  std::string light_, heavy_;
  std::vector<request> schedule_;
  draw pick_;
  int epoll_ = ::epoll_create1(0);
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<connection*> idle_;
};

/// Returns one time of each request of a kind, sorted, in us, without those of the warm-up.
template <class Time>
std::vector<double> sorted_us(const std::vector<request>& all, bool heavy, Time time_of) {
  std::vector<double> us;
  for (const request& r : all)
    if (r.is_heavy == heavy && r.due >= warm_up)
      us.push_back(std::chrono::duration<double, std::micro>(time_of(r)).count());
  std::ranges::sort(us);
  return us;
}

/// Prints the latencies of one kind of request, if there are any.
void print(const char* kind, const std::vector<request>& all, bool heavy) {
  const std::vector<double> us = sorted_us(all, heavy, [](const request& r) { return r.latency; });
  if (us.empty()) return;
  for (const auto& [name, part] : {std::pair("p50", .5), std::pair("p99", .99), std::pair("p99.9", .999)})
    std::printf(R"(, "%s %s": %.1f)", kind, name, quantile(us, part));
}

} // namespace

int main(int count, char** words) {
  const options o = options_of(count, words);
  ::prctl(PR_SET_TIMERSLACK, 1UL); // 50 us else, as long as the time between two arrivals
  try {
    client all(o);
    const auto [requests, took] = all.run();
    std::printf(R"({"requests/s": %.1f)",
                static_cast<double>(requests.size()) / std::chrono::duration<double>(took).count());
    print("light", requests, false);
    print("heavy", requests, true);
    const std::vector<double> late =
        sorted_us(requests, false, [](const request& r) { return r.seen - r.due; });
    std::printf(", \"client late p99\": %.1f}\n", late.empty() ? 0. : quantile(late, .99));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_open_loop: %s\n", error.what());
    return 1;
  }
}
