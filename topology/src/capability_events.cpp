#include <corewise/topology/capability_events.hpp>
#include <corewise/topology/error.hpp>

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/thermal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace corewise {

namespace {

using bytes = std::span<const std::byte>;

constexpr std::size_t aligned(std::size_t size) noexcept { return (size + 3) & ~std::size_t{3}; }

/// Reads a plain value from the start of bytes; nothing: there are too few.
template <class T> std::optional<T> value_at(bytes from) noexcept {
  if (from.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, from.data(), sizeof(T));
  return value;
}

/// Calls f(type, content) for each attribute, as far as they are whole.
template <class F> void for_each_attribute(bytes from, const F& f) {
  while (const auto head = value_at<nlattr>(from)) {
    if (head->nla_len < sizeof(nlattr) || head->nla_len > from.size()) return;
    f(head->nla_type & NLA_TYPE_MASK, from.subspan(sizeof(nlattr), head->nla_len - sizeof(nlattr)));
    from = from.subspan(std::min(aligned(head->nla_len), from.size()));
  }
}

/// Calls f(command, attributes) for each message of that family, as far as they are whole.
template <class F> void for_each_message(bytes from, std::uint16_t family, const F& f) {
  while (const auto head = value_at<nlmsghdr>(from)) {
    if (head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > from.size()) return;
    const bytes body = from.subspan(sizeof(nlmsghdr), head->nlmsg_len - sizeof(nlmsghdr));
    if (const auto of = value_at<genlmsghdr>(body); of && head->nlmsg_type == family)
      f(of->cmd, body.subspan(sizeof(genlmsghdr)));
    from = from.subspan(std::min(aligned(head->nlmsg_len), from.size()));
  }
}

[[noreturn]] void fail(const std::string& what) { throw topology_error("topology.hfi: " + what); }

/// The numbers of a family of generic netlink and of its group of events.
struct family_numbers {
  std::optional<std::uint16_t> family;
  std::optional<std::uint32_t> events;
};

std::string_view text_of(bytes content) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  return text.substr(0, text.find('\0'));
}

void read_group(bytes group, family_numbers& into) {
  std::string_view name;
  std::optional<std::uint32_t> number;
  for_each_attribute(group, [&](int type, bytes content) {
    if (type == CTRL_ATTR_MCAST_GRP_NAME) name = text_of(content);
    if (type == CTRL_ATTR_MCAST_GRP_ID) number = value_at<std::uint32_t>(content);
  });
  if (name == THERMAL_GENL_EVENT_GROUP_NAME) into.events = number;
}

family_numbers read_family(bytes answer) {
  family_numbers found;
  for_each_message(answer, GENL_ID_CTRL, [&](int command, bytes attributes) {
    if (command != CTRL_CMD_NEWFAMILY) return;
    for_each_attribute(attributes, [&](int type, bytes content) {
      if (type == CTRL_ATTR_FAMILY_ID) found.family = value_at<std::uint16_t>(content);
      if (type == CTRL_ATTR_MCAST_GROUPS)
        for_each_attribute(content, [&](int /*index*/, bytes group) { read_group(group, found); });
    });
  });
  return found;
}

constexpr std::string_view family_name = THERMAL_GENL_FAMILY_NAME;

/// Asks the kernel for the family `thermal`.
void ask_for_family(int socket) {
  struct {
    nlmsghdr head;
    genlmsghdr general;
    nlattr attribute;
    std::array<char, aligned(family_name.size() + 1)> text;
  } asked{};
  asked.head.nlmsg_len = sizeof(asked);
  asked.head.nlmsg_type = GENL_ID_CTRL;
  asked.head.nlmsg_flags = NLM_F_REQUEST;
  asked.general.cmd = CTRL_CMD_GETFAMILY;
  asked.general.version = 1;
  asked.attribute.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + family_name.size() + 1);
  asked.attribute.nla_type = CTRL_ATTR_FAMILY_NAME;
  std::ranges::copy(family_name, asked.text.begin());
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket, &asked, sizeof(asked), 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) <
      0)
    fail(std::string("the kernel cannot be asked: ") + std::strerror(errno));
}

constexpr std::size_t largest_message = 64 * 1024;

} // namespace

capability_events capability_events::subscribe() {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
  if (socket < 0) fail(std::string("there is no netlink: ") + std::strerror(errno));
  capability_events made(socket, 0);
  ask_for_family(socket);
  std::vector<std::byte> answer(largest_message);
  const ssize_t size = ::recv(socket, answer.data(), answer.size(), 0); // the kernel answers within `sendto`
  const family_numbers thermal =
      size <= 0 ? family_numbers{} : read_family(bytes(answer).first(static_cast<std::size_t>(size)));
  if (!thermal.family || !thermal.events) fail("the kernel tells no capabilities of CPUs");
  const std::uint32_t group = *thermal.events;
  if (::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) != 0)
    fail(std::string("this process may not subscribe: ") + std::strerror(errno));
  made.family_ = *thermal.family;
  return made;
}

capability_events::capability_events(capability_events&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      family_(other.family_),
      performance_(std::move(other.performance_)) {}

capability_events::~capability_events() {
  if (socket_ >= 0) ::close(socket_);
}

const std::map<std::uint32_t, std::uint32_t>& capability_events::read() {
  std::vector<std::byte> room(largest_message);
  bool lost = false;
  for (;;) {
    const ssize_t size = ::recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ENOBUFS) { // events got lost, the newest of them: what is told next counts alone
      lost = true;
      continue;
    }
    if (size <= 0) break;
    read_capabilities(bytes(room).first(static_cast<std::size_t>(size)), family_, performance_);
  }
  if (lost) performance_.clear();
  return performance_;
}

void read_capabilities(bytes messages, std::uint16_t family,
                       std::map<std::uint32_t, std::uint32_t>& performance) {
  constexpr std::uint32_t most = 1023;
  for_each_message(messages, family, [&](int command, bytes attributes) {
    if (command != THERMAL_GENL_EVENT_CPU_CAPABILITY_CHANGE) return;
    for_each_attribute(attributes, [&](int type, bytes list) {
      if (type != THERMAL_GENL_ATTR_CPU_CAPABILITY) return;
      std::optional<std::uint32_t> cpu; // each CPU's number comes before its figures
      for_each_attribute(list, [&](int what, bytes content) {
        const auto value = value_at<std::uint32_t>(content);
        if (what == THERMAL_GENL_ATTR_CPU_CAPABILITY_ID) cpu = value;
        if (what != THERMAL_GENL_ATTR_CPU_CAPABILITY_PERFORMANCE || !cpu || !value) return;
        if (*cpu <= cpu_set::largest && *value <= most) performance[*cpu] = *value;
      });
    });
  });
}

std::vector<std::uint32_t> speeds_by(const std::map<std::uint32_t, std::uint32_t>& performance,
                                     const locality_groups& groups) {
  std::vector<double> kept;
  for (const locality_group& g : groups.groups()) {
    double sum = 0;
    double told = 0;
    for (const auto& [cpu, now] : performance)
      if (g.cpus.contains(cpu)) sum += now, ++told;
    if (told == 0) return {};
    kept.push_back(sum / told / g.capacity);
  }
  const double most = *std::ranges::max_element(kept);
  std::vector<std::uint32_t> percent;
  for (const double part : kept)
    percent.push_back(
        most == 0 ? 100 : static_cast<std::uint32_t>(std::max(5L, std::lround(part / most * 20) * 5)));
  if (std::ranges::all_of(percent, [](std::uint32_t p) { return p == 100; })) percent.clear();
  return percent;
}

} // namespace corewise
