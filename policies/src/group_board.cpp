#include <corewise/policies/load_view.hpp>

#include <memory>

namespace corewise {
namespace {

constexpr std::size_t word_bytes = sizeof(std::atomic<std::uint64_t>);

std::size_t levels_at(std::size_t workers) noexcept {
  const std::size_t bits = 3 * worker_bits::words_for(workers) * word_bytes;
  return (bits + load_levels::chunk - 1) / load_levels::chunk * load_levels::chunk;
}

std::atomic<std::uint64_t>* make_words(unsigned char* at, std::size_t workers, std::size_t set) noexcept {
  const std::size_t count = worker_bits::words_for(workers);
  auto* words = reinterpret_cast<std::atomic<std::uint64_t>*>(at + set * count * word_bytes);
  std::uninitialized_value_construct_n(words, count);
  return words;
}

unsigned char* bytes_of(auto& lines) noexcept { return reinterpret_cast<unsigned char*>(lines.get()); }

} // namespace

group_board::group_board(std::size_t workers, load_slot* first_slot)
    : lines_(std::make_unique<line[]>(
          (levels_at(workers) + load_levels::bytes_for(workers) + sizeof(line) - 1) / sizeof(line))),
      slots(first_slot),
      spinning(make_words(bytes_of(lines_), workers, 0), workers),
      parked(make_words(bytes_of(lines_), workers, 1), workers),
      unavailable(make_words(bytes_of(lines_), workers, 2), workers),
      levels(bytes_of(lines_) + levels_at(workers), workers) {}

// | tag   | release site              | acquire site        | publishes            | weakened                           |
// |-------|---------------------------|---------------------|----------------------|------------------------------------|
// | least | publish_level: its fences | the same, in others | nothing but a number | a group's level stays above its    |
// |       |                           |                     |                      | lightest worker's, who is not seen |
//
// Two that publish at once: each writes its own byte, fences, and then reads the group's level or that of the others. So
// the one that writes the group's level last has seen the bytes of both, or sees them when it looks once more.
void publish_level(group_board& board, std::size_t place, std::uint8_t level, load_levels* of_groups,
                   group_id g) noexcept {
  const std::uint8_t before = board.levels.publish(place, level);
  if (before == level || of_groups == nullptr) return;
  std::atomic_thread_fence(std::memory_order_seq_cst); // pairs: least
  if (std::min(before, level) > of_groups->at(g.value)) return; // somebody else is the lightest
  for (std::uint8_t least = board.levels.least_of_all();;) {
    of_groups->publish(g.value, least);
    std::atomic_thread_fence(std::memory_order_seq_cst); // pairs: least
    const std::uint8_t again = board.levels.least_of_all();
    if (again == least) return;
    least = again;
  }
}

} // namespace corewise
