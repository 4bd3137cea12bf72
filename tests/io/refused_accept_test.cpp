#include "sockets.hpp"

#include <corewise/engine/log_record.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <vector>

// Listeners to which the system gives no connection for a while.

using namespace corewise;
using namespace std::chrono_literals;

namespace {

std::atomic<int> refused_by{0}; // the error of each try to accept; 0: none
std::atomic<std::uint64_t> tries{0};

} // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
int __real_accept4(int fd, sockaddr* peer, socklen_t* size, int flags);
[[gnu::used]] int __wrap_accept4(int fd, sockaddr* peer, socklen_t* size, int flags) {
  ++tries;
  if (const int error = refused_by; error != 0) {
    errno = error;
    return -1;
  }
  return __real_accept4(fd, peer, size, flags);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

TEST_CASE("listen: without descriptors or memory a listener tries again after a pause, says so once, and "
          "loses no connection") {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    CAPTURE(error);
    std::atomic<int> said{0};
    engine e(served_engine::profile_of(2), counting(log_code::accept_paused, said));
    io::service io(e);
    const io::listener server = io::listen(io, on_loopback(), {}, echo);
    refused_by = error;
    std::vector<int> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(connect_plainly(server.port()));
    const auto begun = std::chrono::steady_clock::now();
    const std::uint64_t before = tries;
    const bool tries_again = within(30s, [&] { return tries >= before + 8; });
    const auto pauses = (std::chrono::steady_clock::now() - begun) / 50ms;
    CHECK(server.counts().accepted == 0);
    refused_by = 0;
    CHECK(tries_again);
    CHECK(pauses >= 5); // not again and again
    CHECK(within(30s, [&] { return server.counts().accepted == clients.size(); }));
    CHECK(said == 1);
    for (const int fd : clients) {
      CHECK(answers(fd));
      ::close(fd);
    }
  }
}
