#include "checks.hpp"

#include <corewise/engine/engine.hpp>
#include <corewise/engine/first_touch.hpp>
#include <corewise/engine/future.hpp>
#include <corewise/engine/group_local.hpp>
#include <corewise/topology/binding.hpp>

#include <array>
#include <cstring>

namespace corewise::emulated {

namespace {

constexpr std::size_t page = 4096;

std::uint32_t node_of(const engine& e, group_id g) {
  const auto node = e.groups()[g].node;
  return node ? e.machine().nodes()[*node].os_index : 0;
}

std::string node_text(std::optional<std::uint32_t> node) { return node ? std::to_string(*node) : "unknown"; }

/// More than one page, so that one page lies all within it.
struct large {
  std::array<std::byte, 4 * page> bytes{};
};

void check_group_data(engine& e, verdict& v) {
  group_local<large> locals(e);
  for (group_id g{0}; g.value < e.groups().size(); ++g.value) {
    const std::string who = "group " + std::to_string(g.value);
    const std::string node = std::to_string(node_of(e, g));
    v.same(who + ", node of its group_local", node_text(node_of_page(&locals.at(g).bytes[2 * page])), node);
    constexpr std::size_t bytes = 256 * 1024;
    void* const data = e.memory(g).allocate(bytes);
    std::memset(data, 1, bytes);
    v.same(who + ", node of its memory", node_text(node_of_page(static_cast<char*>(data) + bytes / 2)), node);
    e.memory(g).deallocate(data, bytes);
  }
}

/// Counts the pages of the array that lie elsewhere than their share's group. Leaves out pages of which a
/// huge page may reach into two shares; so it also leaves out the first ones, which the calling task writes
/// before it sees that the loop is worth sharing.
std::size_t pages_elsewhere(const engine& e, const first_touch_array<double>& numbers) {
  constexpr std::size_t in_page = page / sizeof(double);
  constexpr std::size_t in_huge_page = 512 * in_page;
  std::size_t wrong = 0;
  std::size_t begin = 0;
  for (const detail::loop_share& share : numbers.loop_shares()) {
    for (std::size_t i = begin + in_huge_page; i + in_huge_page < share.end; i += in_page)
      wrong += node_of_page(&numbers[i]) == node_of(e, share.group) ? 0U : 1U;
    begin = share.end;
  }
  return wrong;
}

} // namespace

void check_data(profile p, verdict& v) {
  p.steal.policy = "none"; // a thief from another node would write pages there
  engine e(p);
  check_group_data(e, v);
  const auto ones =
      sync_wait(e, make_first_touch<double>(std::size_t{4} << 20, [](std::size_t) { return 1.0; }));
  v.same("pages of a first_touch_array that lie elsewhere than the thread that goes through them",
         std::to_string(pages_elsewhere(e, ones)), "0");
}

} // namespace corewise::emulated
