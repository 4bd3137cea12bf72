#include <corewise/policies/detail/atomic.hpp>
#include <corewise/policies/load_view.hpp>

#include <memory>

namespace corewise {
namespace {

constexpr std::size_t word_bytes = sizeof(detail::atomic<std::uint64_t>);

std::size_t levels_at(std::size_t workers) noexcept {
  const std::size_t bits = 3 * worker_bits::words_for(workers) * word_bytes;
  return (bits + load_levels::chunk - 1) / load_levels::chunk * load_levels::chunk;
}

detail::atomic<std::uint64_t>* make_words(unsigned char* at, std::size_t workers, std::size_t set) noexcept {
  const std::size_t count = worker_bits::words_for(workers);
  auto* words = reinterpret_cast<detail::atomic<std::uint64_t>*>(at + set * count * word_bytes);
  std::uninitialized_value_construct_n(words, count);
  return words;
}

unsigned char* bytes_of(auto& lines) noexcept { return reinterpret_cast<unsigned char*>(lines.get()); }

} // namespace

group_board::group_board(std::size_t workers, board_entry* first)
    : lines_(std::make_unique<line[]>(
          (levels_at(workers) + load_levels::bytes_for(workers) + sizeof(line) - 1) / sizeof(line))),
      entries(first),
      active(static_cast<std::uint32_t>(workers)),
      spinning(make_words(bytes_of(lines_), workers, 0), workers),
      parked(make_words(bytes_of(lines_), workers, 1), workers),
      unavailable(make_words(bytes_of(lines_), workers, 2), workers),
      levels(bytes_of(lines_) + levels_at(workers), workers) {}

void publish_level(group_board& board, std::size_t index, std::uint8_t level, load_levels* of_groups,
                   group_id g) noexcept {
  const std::uint8_t before = board.levels.publish(index, level);
  if (before == level || of_groups == nullptr) return;
  if (std::min(before, level) <= of_groups->at(g.value)) publish_least(board, *of_groups, g);
}

void publish_least(const group_board& board, load_levels& of_groups, group_id g) noexcept {
  of_groups.publish(g.value, board.levels.least_of_all());
}

} // namespace corewise
