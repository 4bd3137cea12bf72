#include "tune_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace corewise::command {

namespace {

bool is_plain(char c) {
  static constexpr std::string_view others = "_-./=,:+@%";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// Quotes a text as one word of bash, in one line of ASCII.
std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  if (std::ranges::all_of(text, is_printable) && text.find('\'') == std::string_view::npos)
    return fmt::format("'{}'", text);
  std::string out = "$'";
  for (const char c : text) {
    if (c == '\'' || c == '\\')
      out += fmt::format("\\{}", c);
    else
      out += is_printable(c) ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + '\'';
}

std::string_view goal_name(tuning_goal goal) {
  static constexpr std::array<std::string_view, 3> names{"p99", "throughput", "energy"};
  return names.at(static_cast<std::size_t>(goal));
}

} // namespace

std::string command_again(const tune_options& o, std::uint32_t evaluations) {
  std::string out = "corewise tune";
  if (o.machine) out += " --machine " + shell_word(*o.machine);
  for (const std::string& w : o.workloads) out += " --workload " + shell_word(w);
  if (o.from) out += " --from " + shell_word(*o.from);
  return out + fmt::format(" --goal {} --tasks {} --seeds {} --held-out {} --seed {} --evaluations {}",
                           goal_name(o.goal), o.tasks, o.seeds, o.held_out, o.seed, evaluations);
}

} // namespace corewise::command
