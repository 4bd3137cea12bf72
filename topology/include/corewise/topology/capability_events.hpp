#pragma once

#include <corewise/topology/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace corewise {

/// The speed that each CPU can have now, as heat and power allow, from the hardware: Intel's thread director, by
/// the events of the kernel's generic netlink family `thermal` (Linux 5.18 or later). The kernel sends them when it changes,
/// and may switch the hardware's side of it on when something subscribes. Call from one thread at a time.
class capability_events {
 public:
  /// Subscribes with the kernel. Throws `topology_error` where it has no such events, or does not let this process.
  static capability_events subscribe();
  /// Takes over a socket of datagrams on which such messages come, of the family with that number.
  capability_events(int socket, std::uint16_t family) noexcept : socket_(socket), family_(family) {}
  capability_events(capability_events&& other) noexcept;
  capability_events& operator=(capability_events&&) = delete;
  ~capability_events();

  /// Reads all that has come. Returns the performance of each CPU that was told so far, 0 to 1023, by its number; none
  /// if the kernel has lost some, since they were the newest. Does not wait. Throws `std::bad_alloc`.
  const std::map<std::uint32_t, std::uint32_t>& read();

 private:
  int socket_;
  std::uint16_t family_ = 0;
  std::map<std::uint32_t, std::uint32_t> performance_;
};

/// Puts what messages of that family say of CPUs into `performance`. Leaves out other messages, and what is cut off or not
/// as it should be.
void read_capabilities(std::span<const std::byte> messages, std::uint16_t family,
                       std::map<std::uint32_t, std::uint32_t>& performance);

/// Returns the part of its capacity that each group has by these figures, in percent, in steps of five; the group that has
/// kept most of it has 100. Empty: all have kept the same, or of some group nothing was told.
std::vector<std::uint32_t> speeds_by(const std::map<std::uint32_t, std::uint32_t>& performance,
                                     const locality_groups& groups);

} // namespace corewise
