#pragma once

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/thermal.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

// What the kernel sends of the capabilities of CPUs, made by hand.

namespace corewise::tests {

using figures = std::map<std::uint32_t, std::uint32_t>;
inline constexpr std::uint16_t thermal = 27; // the number of the family

/// Bytes of netlink, as the kernel lays them out.
class netlink_bytes {
 public:
  template <class T> netlink_bytes& put(const T& value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
    return *this;
  }
  netlink_bytes& put(int type, const netlink_bytes& content) {
    put(nlattr{static_cast<std::uint16_t>(sizeof(nlattr) + content.bytes_.size()),
               static_cast<std::uint16_t>(type)});
    bytes_.insert(bytes_.end(), content.bytes_.begin(), content.bytes_.end());
    while (bytes_.size() % 4 != 0) bytes_.push_back({});
    return *this;
  }
  netlink_bytes& number(int type, std::uint32_t value) { return put(type, netlink_bytes().put(value)); }
  /// Adds a message.
  netlink_bytes& message(std::uint16_t family, std::uint8_t command, const netlink_bytes& attributes) {
    nlmsghdr head{};
    head.nlmsg_len =
        static_cast<std::uint32_t>(sizeof(nlmsghdr) + sizeof(genlmsghdr) + attributes.bytes_.size());
    head.nlmsg_type = family;
    put(head).put(genlmsghdr{command, 1, 0});
    bytes_.insert(bytes_.end(), attributes.bytes_.begin(), attributes.bytes_.end());
    return *this;
  }
  const std::vector<std::byte>& all() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// What the kernel sends for CPUs and their performance; the efficiency is of no interest here.
inline netlink_bytes capabilities(const figures& of) {
  netlink_bytes list;
  for (const auto& [cpu, performance] : of)
    list.number(THERMAL_GENL_ATTR_CPU_CAPABILITY_ID, cpu)
        .number(THERMAL_GENL_ATTR_CPU_CAPABILITY_PERFORMANCE, performance)
        .number(THERMAL_GENL_ATTR_CPU_CAPABILITY_EFFICIENCY, 500);
  return netlink_bytes().put(THERMAL_GENL_ATTR_CPU_CAPABILITY, list);
}

inline netlink_bytes event_of(const figures& of) {
  return netlink_bytes().message(thermal, THERMAL_GENL_EVENT_CPU_CAPABILITY_CHANGE, capabilities(of));
}

} // namespace corewise::tests
