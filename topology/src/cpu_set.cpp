#include <corewise/topology/cpu_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>

namespace corewise {
namespace {

constexpr std::uint32_t word_bits = 64;

/// Reads a list from left to right, a range at a time.
class list_reader {
 public:
  explicit list_reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::uint32_t> number() {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{} || value > cpu_set::largest) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

 private:
  std::string_view rest_;
};

/// `used` CPUs at the start of each `period`. A plain range uses its whole period.
struct stride {
  std::uint32_t used = 1;
  std::uint32_t period = 1;
};

std::optional<stride> read_stride(list_reader& in) {
  if (!in.skip(':')) return stride{};
  const auto used = in.number();
  if (!used || !in.skip('/')) return std::nullopt;
  const auto period = in.number();
  if (!period || *period == 0 || *used == 0 || *used > *period) return std::nullopt;
  return stride{*used, *period};
}

bool read_range(list_reader& in, cpu_set& into) {
  const auto first = in.number();
  if (!first) return false;
  auto last = first;
  auto step = std::optional(stride{});
  if (in.skip('-')) {
    last = in.number();
    step = read_stride(in);
  }
  if (!last || !step || *last < *first) return false;
  if (*last == *first) return into.insert(*first), true;
  if (step->used == step->period) return into |= cpu_set::range(*first, *last), true;
  for (std::uint32_t cpu = *first; cpu <= *last; ++cpu)
    if ((cpu - *first) % step->period < step->used) into.insert(cpu);
  return true;
}

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

} // namespace

cpu_set cpu_set::range(std::uint32_t first, std::uint32_t last) {
  cpu_set result;
  last = std::min(last, largest);
  if (first > last) return result;
  result.words_.resize(last / word_bits + 1);
  const std::uint64_t from = ~std::uint64_t{0} << (first % word_bits);
  const std::uint64_t to = ~std::uint64_t{0} >> (word_bits - 1 - last % word_bits);
  std::fill(result.words_.begin() + first / word_bits, result.words_.end(), ~std::uint64_t{0});
  result.words_[first / word_bits] &= from;
  result.words_.back() &= to;
  return result;
}

std::optional<cpu_set> cpu_set::parse(std::string_view list) {
  cpu_set result;
  list_reader in(trim_blanks(list));
  if (in.at_end()) return result;
  do {
    if (!read_range(in, result)) return std::nullopt;
  } while (in.skip(','));
  if (!in.at_end()) return std::nullopt;
  return result;
}

void cpu_set::insert(std::uint32_t cpu) {
  const auto word = cpu / word_bits;
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

void cpu_set::erase(std::uint32_t cpu) {
  const auto word = cpu / word_bits;
  if (word >= words_.size()) return;
  words_[word] &= ~(std::uint64_t{1} << (cpu % word_bits));
  trim();
}

bool cpu_set::contains(std::uint32_t cpu) const noexcept {
  const auto word = cpu / word_bits;
  return word < words_.size() && (words_[word] >> (cpu % word_bits) & 1) != 0;
}

std::size_t cpu_set::size() const noexcept {
  std::size_t count = 0;
  for (const auto word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::uint32_t cpu_set::first() const noexcept {
  const auto word = std::ranges::find_if(words_, [](std::uint64_t w) { return w != 0; });
  if (word == words_.end()) return 0;
  const auto index = static_cast<std::uint32_t>(word - words_.begin());
  return index * word_bits + static_cast<std::uint32_t>(std::countr_zero(*word));
}

std::vector<std::uint32_t> cpu_set::to_vector() const {
  std::vector<std::uint32_t> cpus;
  cpus.reserve(size());
  for (std::uint32_t index = 0; index < words_.size(); ++index)
    for (auto rest = words_[index]; rest != 0; rest &= rest - 1)
      cpus.push_back(index * word_bits + static_cast<std::uint32_t>(std::countr_zero(rest)));
  return cpus;
}

std::string cpu_set::to_string() const {
  std::string list;
  const auto cpus = to_vector();
  for (auto first = cpus.begin(); first != cpus.end();) {
    auto last = first;
    while (std::next(last) != cpus.end() && *std::next(last) == *last + 1) ++last;
    if (!list.empty()) list += ',';
    fmt::format_to(std::back_inserter(list), "{}", *first);
    if (first != last) fmt::format_to(std::back_inserter(list), "-{}", *last);
    first = std::next(last);
  }
  return list;
}

bool cpu_set::intersects(const cpu_set& other) const noexcept {
  const auto common = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < common; ++i)
    if ((words_[i] & other.words_[i]) != 0) return true;
  return false;
}

bool cpu_set::is_subset_of(const cpu_set& other) const noexcept {
  if (words_.size() > other.words_.size()) return false;
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  return true;
}

cpu_set& cpu_set::operator&=(const cpu_set& other) {
  words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  trim();
  return *this;
}

cpu_set& cpu_set::operator|=(const cpu_set& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

cpu_set& cpu_set::operator-=(const cpu_set& other) {
  const auto common = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < common; ++i) words_[i] &= ~other.words_[i];
  trim();
  return *this;
}

void cpu_set::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

} // namespace corewise
