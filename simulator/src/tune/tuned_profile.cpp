#include "findings.hpp"

#include <corewise/engine/profile_text.hpp>

#include <fmt/format.h>

namespace corewise {

namespace {

constexpr std::size_t width = 110;
constexpr std::size_t name_bytes_most = 64; ///< of a profile

/// Replaces what would end the comment, or is not allowed in a profile.
std::string fit_for_comment(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out;
}

/// Writes a paragraph: its first line begins with `head`, the others with as many blanks. Words are never
/// cut.
void comment(std::string& out, std::string_view head, std::string_view text) {
  std::string line = fmt::format("# {}", head);
  const std::string margin = "# " + std::string(head.size(), ' ');
  std::size_t words = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (words > 0 && line.size() + 1 + word.size() > width) {
      out += line + '\n';
      line = margin;
      words = 0;
    }
    line += (words++ == 0 ? "" : " ") + std::string(word);
  }
  out += line + '\n';
}

std::string span_of(std::uint64_t first, std::uint64_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

void tell_what_was_done(std::string& out, const tuning_result& r, const tuning_options& options,
                        const tuning_story& story) {
  comment(out, "", "Made by `corewise tune`, which tries profiles on a simulated machine (docs/tuning.md).");
  out += "#\n";
  comment(out, "machine    ", fit_for_comment(story.machine));
  for (const std::string& w : story.workloads) comment(out, "workload   ", fit_for_comment(w));
  comment(out, "goal       ",
          fmt::format("{}: {}", detail::name_of(options.goal), detail::subject_of(options.goal)));
  comment(out, "began with ", fit_for_comment(story.start));
  comment(out, "searched   ",
          fmt::format("{} profiles on seeds {}, {} tasks each{}", r.evaluations,
                      span_of(options.first_seed, options.seeds), story.tasks,
                      r.exhausted ? "; the search ended by itself" : ""));
  comment(out, "judged on  ",
          fmt::format("seeds {}, which the search did not see",
                      span_of(options.first_seed + options.seeds, options.held_out)));
}

std::string left_as_they_were(const tuning_result& r, bool gained) {
  std::string out;
  for (const auto& c : r.changes)
    if (!gained || c.before == c.after)
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", c.field.key, c.field.text(c.before));
  return out;
}

std::string opening(const tuning_result& r, const tuning_options& options, const tuning_story& story) {
  std::string out;
  tell_what_was_done(out, r, options, story);
  out += "#\n";
  for (const std::string& line : findings(r, options)) comment(out, "", line);
  if (const std::string same = left_as_they_were(r, r.gained); !same.empty()) {
    out += "#\n";
    comment(out, "", "Searched and left unchanged: " + same);
  }
  out += "#\n# To do it again:\n#   " + fit_for_comment(story.command) + "\n\n";
  return out;
}

std::string remark_on(const tuning_result::change& c) {
  const double usual = c.field.read(profile{});
  std::string out = "was " + c.field.text(c.before);
  if (usual != c.before) out += fmt::format(", the default is {}", c.field.text(usual));
  return out;
}

std::string name_after(const std::string& name) {
  if (name == profile{}.name) return "tuned";
  const bool room = name.size() + 6 <= name_bytes_most;
  return name.ends_with("tuned") || !room ? name : name + "-tuned";
}

} // namespace

std::string tuned_profile_text(const tuning_result& r, const profile& file, const tuning_options& options,
                               const tuning_story& story) {
  const std::string head = opening(r, options, story);
  if (!r.gained) return head + profile_text(file);
  profile written = with_purpose(file, r.tuned);
  written.name = name_after(file.name);
  return head + profile_text(written, [&](std::string_view key) -> std::string {
           for (const auto& c : r.changes)
             if (c.field.key == key && c.before != c.after) return remark_on(c);
           return "";
         });
}

} // namespace corewise
