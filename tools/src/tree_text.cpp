#include "tree_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace corewise::command {

namespace {

constexpr std::size_t fold_from = 5; // lines alike
constexpr std::size_t list_most = 40;

class tree_drawing {
 public:
  tree_drawing(const style& look, bool all) : look_(look), all_(all) {}

  void draw_below(const tree_line& parent, const std::string& margin) {
    const std::span lines(parent.below);
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t alike = run_length(lines.subspan(at));
      draw_run(lines.subspan(at, alike), margin, at + alike == lines.size());
      at += alike;
    }
  }

  std::string text;

 private:
  static std::size_t run_length(std::span<const tree_line> lines) {
    const auto same = [&](const tree_line& l) { return l.shape == lines.front().shape; };
    return static_cast<std::size_t>(std::find_if_not(lines.begin(), lines.end(), same) - lines.begin());
  }

  void draw_run(std::span<const tree_line> run, const std::string& margin, bool last) {
    if (all_ || run.size() < fold_from) {
      for (const tree_line& l : run) draw(l, margin, last && &l == &run.back());
      return;
    }
    draw(run[0], margin, false);
    draw(run[1], margin, false);
    draw_fold(run.subspan(2, run.size() - 3), margin);
    draw(run.back(), margin, last);
  }

  void draw(const tree_line& l, const std::string& margin, bool last) {
    const std::string_view branch = last ? look_.glyph("└─ ", "`- ") : look_.glyph("├─ ", "|- ");
    text += look_.paint(ink::line, margin + std::string(branch)) + l.text + '\n';
    draw_below(l, margin + std::string(last ? "   " : look_.glyph("│  ", "|  ")));
  }

  void draw_fold(std::span<const tree_line> folded, const std::string& margin) {
    cpu_set cpus;
    cpu_set groups;
    for (const tree_line& l : folded) {
      cpus |= l.cpus;
      groups |= l.groups;
    }
    text += look_.paint(ink::line, fmt::format("{}{} {} more like these: groups {}, CPUs {}", margin,
                                               look_.glyph("┊ ", ": "), folded.size(), groups.to_string(),
                                               short_list(cpus, look_, false)));
    text += '\n';
  }

  const style& look_;
  bool all_;
};

} // namespace

std::string draw_tree(const tree_line& root, const style& look, bool all) {
  tree_drawing drawing(look, all);
  drawing.draw_below(root, "");
  return drawing.text;
}

std::string short_list(const cpu_set& set, const style& look, bool all) {
  if (set.empty()) return "none";
  std::string list = set.to_string();
  if (all || list.size() <= list_most) return list;
  const std::size_t head = list.rfind(',', list_most / 2);
  const std::size_t tail = list.rfind(',');
  return fmt::format("{},{}{} ({} in all)", list.substr(0, head), look.glyph("…", "..."), list.substr(tail),
                     set.size());
}

} // namespace corewise::command
