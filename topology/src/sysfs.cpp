#include "sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <memory>
#include <sstream>

namespace corewise::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_text = std::size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool append_all(int file, std::string& text) {
  char block[4096];
  while (text.size() < largest_text) {
    const auto got = ::read(file, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(block, static_cast<std::size_t>(got));
  }
  return true;
}

} // namespace

std::vector<std::string> names_in(const fs::path& directory) {
  const std::unique_ptr<DIR, decltype([](DIR* d) { ::closedir(d); })> open(::opendir(directory.c_str()));
  std::vector<std::string> names;
  if (!open) return names;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Uses plain system calls: a large machine has thousands of such files, and most of them do not exist.
std::optional<std::string> read_text(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct closing {
    int file;
    ~closing() { ::close(file); }
  } const at_end{descriptor};
  std::string text;
  if (!append_all(descriptor, text)) return std::nullopt;
  return std::string(trimmed(text));
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::uint32_t percent_of(std::uint64_t part, std::uint64_t whole) noexcept {
  constexpr std::uint64_t step = 5;
  if (part >= whole) return 100;
  return static_cast<std::uint32_t>(std::max(step, (part * 100 / step + whole / 2) / whole * step));
}

std::optional<cpu_set> parse_mask(std::string_view text) {
  cpu_set cpus;
  for (std::uint32_t first = 0;; first += 32) {
    const auto comma = text.rfind(',');
    const auto word = comma == std::string_view::npos ? text : text.substr(comma + 1);
    std::uint32_t bits = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size()) return std::nullopt;
    if (bits != 0 && first + std::bit_width(bits) - 1 > cpu_set::largest) return std::nullopt;
    for (; bits != 0; bits &= bits - 1)
      cpus.insert(first + static_cast<std::uint32_t>(std::countr_zero(bits)));
    if (comma == std::string_view::npos) return cpus;
    text = text.substr(0, comma);
  }
}

std::optional<std::uint64_t> fact_tree::number(const std::string& file) {
  const auto found = text(file);
  if (!found) return std::nullopt;
  const auto value = parse_number(*found);
  if (!value) nonsense_.push_back(file);
  return value;
}

std::optional<cpu_set> fact_tree::cpus(const std::string& file) {
  const auto found = text(file);
  if (!found) return std::nullopt;
  auto list = cpu_set::parse(*found);
  if (!list) nonsense_.push_back(file);
  return list;
}

std::optional<std::vector<std::uint32_t>> fact_tree::distances(const std::string& file) {
  const auto found = text(file);
  if (!found) return std::nullopt;
  std::vector<std::uint32_t> row;
  std::istringstream words(*found);
  for (std::string word; words >> word;) {
    const auto value = parse_number(word);
    if (!value || *value == 0 || *value > 65535) return nonsense_.push_back(file), std::nullopt;
    row.push_back(static_cast<std::uint32_t>(*value));
  }
  return row;
}

std::optional<cpu_set> fact_tree::mask(const std::string& file) {
  const auto found = text(file);
  if (!found) return std::nullopt;
  auto read = parse_mask(*found);
  if (!read) nonsense_.push_back(file);
  return read;
}

std::optional<cpu_set> fact_tree::cpus(const std::vector<std::string>& lists,
                                       const std::vector<std::string>& masks) {
  for (const auto& file : lists)
    if (auto found = cpus(file)) return found;
  for (const auto& file : masks)
    if (auto found = mask(file)) return found;
  return std::nullopt;
}

std::vector<std::uint32_t> fact_tree::numbered(const std::string& directory,
                                               const std::string& prefix) const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names_in(root_ / directory)) {
    if (!name.starts_with(prefix)) continue;
    const auto number = parse_number(std::string_view(name).substr(prefix.size()));
    if (number && *number <= cpu_set::largest) numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::string> fact_tree::complaints() const {
  if (nonsense_.empty()) return {};
  const auto others = nonsense_.size() - 1;
  return {fmt::format(
      "/{}{} makes no sense and is ignored", nonsense_.front(),
      others == 0 ? "" : fmt::format(" and {} other such file{}", others, others == 1 ? "" : "s"))};
}

} // namespace corewise::detail
