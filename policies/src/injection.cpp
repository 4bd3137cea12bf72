#include "injection.hpp"

#include "answer.hpp"

namespace corewise::detail {
namespace {

std::optional<worker_id> someone_of(const load_view& loads, group_id g, bool even_unavailable,
                                    placement_rng& rng) noexcept {
  const std::span<const worker_place> members = loads.layout().of_group(g);
  if (members.empty()) return std::nullopt;
  const group_board& board = loads.board(g);
  for (std::size_t w = 0; w * 64 < members.size(); ++w)
    if (const std::uint64_t parked =
            board.parked.word(w) & (even_unavailable ? ~std::uint64_t{0} : ~board.unavailable.word(w));
        parked != 0)
      return members[w * 64 + static_cast<std::size_t>(std::countr_zero(parked))].id;
  const auto admitted = [&](std::size_t i) { return even_unavailable || !board.unavailable.test(i); };
  const std::size_t start = rng.below(static_cast<std::uint32_t>(members.size()));
  for (std::size_t i = 0; i < members.size(); ++i)
    if (const std::size_t index = (start + i) % members.size(); admitted(index)) return members[index].id;
  return std::nullopt;
}

/// A parked worker of the nearest group with an available worker, else a drawn worker of that group.
worker_id whom_to_wake(const locality_groups& groups, const load_view& loads, group_id home,
                       placement_rng& rng) noexcept {
  for (const bool even_unavailable : {false, true})
    for (const group_id g : groups[home].steal_order)
      if (const auto found = someone_of(loads, g, even_unavailable, rng)) return *found;
  return {};
}

} // namespace

placement injection(const locality_groups& groups, const load_view& loads, const task_origin& origin,
                    placement_rng& rng) noexcept {
  const worker_id worker = whom_to_wake(groups, loads, origin.group, rng);
  placement p =
      answer(groups, origin, {worker, loads.layout()[worker].group, 0}, 0, placement_reason::injected);
  p.injected = true;
  return p;
}

} // namespace corewise::detail
