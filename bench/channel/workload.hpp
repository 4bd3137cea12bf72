#pragma once

#include <contender.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

// Numbers pass from some tasks to as many others by one channel. The figure is `NtoN-ROOM`: N senders, N
// receivers, and room for ROOM numbers in between. The size is how many numbers are sent, and an operation is
// one of them.

namespace corewise::bench::channel {

constexpr std::uint64_t usual_size = 1'000'000;

/// What the figure says.
struct shape {
  std::uint64_t senders;
  std::uint64_t receivers;
  std::uint64_t room;
};

/// Reads the figure. For another text the program ends with 2.
inline shape shape_of(const options& o) {
  unsigned long long senders = 0;
  unsigned long long receivers = 0;
  unsigned long long room = 0;
  const std::string text(o.figure);
  if (std::sscanf(text.c_str(), "%lluto%llu-%llu", &senders, &receivers, &room) != 3 || senders == 0 ||
      receivers == 0) {
    std::fputs("--figure takes SENDERStoRECEIVERS-ROOM, such as 1to1-1024\n", stderr);
    std::exit(2);
  }
  return {senders, receivers, room};
}

inline std::string name_of(const options& o) { return "channel-" + std::string(o.figure); }

/// The first number that the sender does not send any more, if it begins at that of the sender before.
constexpr std::uint64_t end_of(std::uint64_t sender, const shape& s, std::uint64_t size) {
  return sender + 1 == s.senders ? size : size / s.senders * (sender + 1);
}

constexpr std::uint64_t result(std::uint64_t size) { return size * (size - 1) / 2; }

} // namespace corewise::bench::channel
