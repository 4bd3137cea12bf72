#include "scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace corewise::detail {

std::string core_type_word(std::string_view source_word) {
  std::string word(source_word);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::array<std::string_view, 2>, 6> words{{{"lowpower", "lowpower"},
                                                                  {"dense", "dense"},
                                                                  {"efficien", "dense"},
                                                                  {"atom", "atom"},
                                                                  {"core", "core"},
                                                                  {"performance", "core"}}};
  for (const auto& [part, meaning] : words)
    if (word.find(part) != std::string::npos) return std::string(meaning);
  return word;
}

namespace {
const cpu_traits unknown;
} // namespace

const cpu_traits& machine_scan::traits_of(std::uint32_t cpu) const {
  return cpu < traits.size() ? traits[cpu] : unknown;
}

} // namespace corewise::detail
