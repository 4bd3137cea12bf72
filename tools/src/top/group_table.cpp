#include "group_table.hpp"

#include "../printable.hpp"
#include "line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace corewise::command {

namespace {

constexpr std::size_t widest_bar = 40;
constexpr std::size_t narrowest_bar = 6;
constexpr std::string_view bar_title = "busy";
constexpr int rank_of_levels = 0;
constexpr int rank_of_stolen = 1;

/// A row: a group, or several together.
struct row {
  std::string name;
  group_activity numbers;
};

/// A column. Those with the lowest rank go first where there is no room.
struct column {
  std::string title;
  std::size_t columns;
  int rank;
  bool left;
  std::string (*cell)(const row& of, const reading& now, const activity& before);
  ink (*colour)(const row& of, const activity& before) = [](const row&, const activity&) {
    return ink::number;
  };
};

std::string amount(std::uint64_t n, const activity& before) {
  return short_number(static_cast<double>(n) / before.interval_s.value_or(1));
}

template <std::size_t Level> column stolen_at(std::string title) {
  const std::size_t columns = std::max<std::size_t>(7, title.size());
  return {std::move(title), columns, rank_of_levels, false,
          [](const row& r, const reading&, const activity& a) { return amount(r.numbers.stolen[Level], a); }};
}

/// Returns the columns from left to right; the bar stands in front of "busy".
std::vector<column> all_columns(bool rates) {
  const std::string per = rates ? "/s" : "";
  std::vector<column> all{
      {"group", 5, 9, false, [](const row& r, const reading&, const activity&) { return r.name; },
       [](const row&, const activity&) { return ink::group; }},
      {"kind", 8, 2, true, [](const row& r, const reading&, const activity&) { return r.numbers.kind; },
       [](const row&, const activity&) { return ink::kind; }},
      {"workers", 7, 3, false,
       [](const row& r, const reading&, const activity&) { return std::to_string(r.numbers.workers); }},
      {std::string(bar_title), 4, 8, false,
       [](const row& r, const reading&, const activity& a) { return percent(a.busy_share(r.numbers)); },
       [](const row& r, const activity& a) { return ink_of_share(a.busy_share(r.numbers).value_or(0)); }},
      {"load", 6, 7, false,
       [](const row& r, const reading&, const activity&) {
         return short_number(static_cast<double>(r.numbers.load));
       }},
      {"run" + per, 7, 6, false,
       [](const row& r, const reading&, const activity& a) { return amount(r.numbers.executed, a); }},
      {"stolen" + per, 8, rank_of_stolen, false,
       [](const row& r, const reading&, const activity& a) { return amount(r.numbers.stolen_in_all(), a); }},
      stolen_at<0>("stolen" + per + " group"),
      stolen_at<1>("domain"),
      stolen_at<2>("node"),
      stolen_at<3>("package"),
      stolen_at<4>("beyond"),
      {"wait p50", 8, 4, false,
       [](const row& r, const reading& now, const activity&) {
         const quantiles q = quantiles_of(all_classes(r.numbers.waits), now.bounds_s);
         return bound_text(q, q.p50_s, now);
       }},
      {"p99", 7, 5, false,
       [](const row& r, const reading& now, const activity&) {
         const quantiles q = quantiles_of(all_classes(r.numbers.waits), now.bounds_s);
         return bound_text(q, q.p99_s, now);
       }},
  };
  return all;
}

std::size_t width_of(const std::vector<column>& columns) {
  std::size_t sum = 0;
  for (const column& c : columns) sum += c.columns + 1;
  return sum;
}

/// Leaves out columns until the rest fits, with a short bar.
std::vector<column> columns_for(std::size_t width, bool rates) {
  std::vector<column> kept = all_columns(rates);
  while (kept.size() > 1 && width_of(kept) + narrowest_bar > width) {
    const int least = std::ranges::min_element(kept, {}, &column::rank)->rank;
    std::erase_if(kept, [&](const column& c) { return c.rank == least; }); // all levels go together
  }
  if (kept.size() > 1 && std::ranges::min(kept, {}, &column::rank).rank == rank_of_levels)
    std::erase_if(kept, [&](const column& c) { return c.rank == rank_of_stolen; });
  return kept;
}

std::string bar_of(std::optional<double> share, std::size_t columns, const style& look, bool full) {
  const auto filled = static_cast<std::size_t>(std::lround(share.value_or(0) * static_cast<double>(columns)));
  const std::string_view glyph = full ? look.glyph("█", "#") : look.glyph("░", ".");
  std::string out;
  for (std::size_t i = 0; i < (full ? filled : columns - filled); ++i) out += glyph;
  return out;
}

/// Draws the rows of a table.
class table {
 public:
  table(const reading& now, const activity& before, const frame& in)
      : now_(now),
        before_(before),
        in_(in),
        columns_(columns_for(in.columns, before.interval_s.has_value())) {
    const std::size_t wide = width_of(columns_);
    if (wide + narrowest_bar <= in.columns) bar_ = std::min(widest_bar, in.columns - wide);
  }

  std::string head() const {
    return each_column([&](line& text, const column& c) {
      if (has_bar(c)) text.add(std::string(bar_, ' '));
      text.add(ink::title, c.left ? fmt::format("{:<{}}", c.title, c.columns)
                                  : fmt::format("{:>{}}", c.title, c.columns));
    });
  }

  std::string draw(const row& r) const {
    return each_column([&](line& text, const column& c) {
      if (has_bar(c)) {
        const auto share = before_.busy_share(r.numbers);
        text.add(ink_of_share(share.value_or(0)), bar_of(share, bar_ - 1, in_.look, true));
        text.add(ink::line, bar_of(share, bar_ - 1, in_.look, false)).add(" ");
      }
      add_cell(text, c, r);
    });
  }

 private:
  bool has_bar(const column& c) const { return c.title == bar_title && bar_ != 0; }

  template <class Add> std::string each_column(const Add& add) const {
    line text(in_.look, in_.columns);
    for (const column& c : columns_) {
      if (&c != &columns_.front()) text.add(" ");
      add(text, c);
    }
    return text.end();
  }

  void add_cell(line& text, const column& c, const row& r) const {
    const fitted_text value = fitted(c.cell(r, now_, before_), c.columns);
    const std::string blank(c.columns - value.columns, ' ');
    if (!c.left) text.add(blank);
    text.add(c.colour(r, before_), value.text);
    if (c.left) text.add(blank);
  }

  const reading& now_;
  const activity& before_;
  const frame& in_;
  std::vector<column> columns_;
  std::size_t bar_ = 0; // its columns, with a space; 0: there is none
};

} // namespace

void add_group_table(picture& to, const reading& now, const activity& before, const frame& in,
                     std::size_t rows) {
  const table rows_of(now, before, in);
  to.lines.push_back(rows_of.head());
  const std::size_t all = before.groups.size();
  const std::size_t room = rows > 3 ? rows - 2 : 1; // without the head and the sum
  to.groups_shown = all < rows ? all : std::min(all, room);
  to.furthest = all - to.groups_shown;
  to.first_group = std::min(in.first_group, to.furthest);
  group_activity rest;
  for (std::size_t i = 0; i < all; ++i) {
    if (i >= to.first_group && i < to.first_group + to.groups_shown)
      to.lines.push_back(rows_of.draw({std::to_string(now.groups[i].id), before.groups[i]}));
    else
      rest += before.groups[i];
  }
  if (to.groups_shown < all)
    to.lines.push_back(rows_of.draw({fmt::format("+{}", all - to.groups_shown), rest}));
}

ink ink_of_share(double share) noexcept {
  if (share < .6) return ink::kind;
  return share < .9 ? ink::warning : ink::alarm;
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : "-";
}

std::string bound_text(const quantiles& of, std::optional<double> bound_s, const reading& now) {
  if (of.samples == 0 || now.bounds_s.empty()) return "-";
  return bound_s ? "<" + short_time(*bound_s) : ">" + short_time(now.bounds_s.back());
}

} // namespace corewise::command
