#include "picture.hpp"

#include "group_table.hpp"
#include "line.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <string_view>
#include <utility>

namespace corewise::command {

namespace {

constexpr std::array<std::string_view, steal_levels> level_titles{"group", "domain", "node", "package",
                                                                  "beyond"};

std::string clock_text(double at_s) {
  const auto seconds = static_cast<std::time_t>(at_s);
  std::tm local{};
  return ::localtime_r(&seconds, &local) == nullptr ? "?" : fmt::format("{:%H:%M:%S}", local);
}

/// Draws the parts above and below the table.
class painter {
 public:
  painter(const reading& now, const activity& before, const frame& in) : now_(now), a_(before), in_(in) {}

  /// At most `rows` lines: what matters least is left out.
  std::vector<std::string> above(std::size_t rows) {
    add_title();
    add_health();
    using part = void (painter::*)();
    static constexpr std::array<std::pair<part, int>, 7> parts{{{&painter::add_tasks, 6},
                                                                {&painter::add_waits, 5},
                                                                {&painter::add_stolen, 1},
                                                                {&painter::add_threads, 4},
                                                                {&painter::add_kinds, 3},
                                                                {&painter::add_machine, 2},
                                                                {&painter::add_blank, 0}}};
    std::vector<std::string> out = std::exchange(lines_, {});
    std::array<std::vector<std::string>, parts.size()> drawn;
    std::size_t sum = out.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      (this->*parts[i].first)();
      drawn[i] = std::exchange(lines_, {});
      sum += drawn[i].size();
    }
    for (int rank = 0; sum > rows && rank < static_cast<int>(parts.size()); ++rank) {
      const auto least = std::ranges::find(parts, rank, &std::pair<part, int>::second) - parts.begin();
      sum -= std::exchange(drawn[static_cast<std::size_t>(least)], {}).size();
    }
    for (const std::vector<std::string>& lines : drawn) out.insert(out.end(), lines.begin(), lines.end());
    return out;
  }

  /// At most `rows` lines.
  std::vector<std::string> below(std::size_t rows) {
    if (now_.stuck) {
      add_stuck(*now_.stuck, rows);
    } else if (const std::uint64_t standing = a_.in_all().standing; standing != 0) {
      field_list fields = titled("stuck");
      fields.add({}, counted(standing, "worker"), ink::alarm);
      fields.add({}, "the control socket has the names of the tasks", ink::line);
    }
    return std::exchange(lines_, {});
  }

 private:
  field_list titled(std::string_view title) { return {lines_, in_.look, in_.columns, title}; }

  /// Writes a count, or how much of it there was in a second.
  std::string amount(std::uint64_t n) const {
    const double seconds = a_.interval_s.value_or(1);
    return short_number(static_cast<double>(n) / seconds) + (a_.interval_s ? "/s" : "");
  }

  void add_title() {
    line text(in_.look, in_.columns);
    text.add(ink::title, "corewise").add(" ").add(ink::line, in_.source).add("  ").add(clock_text(now_.at_s));
    text.add("  ").add(ink::line, a_.interval_s ? fmt::format("the last {:.1f} s", *a_.interval_s)
                                                : std::string("since the engine began"));
    lines_.push_back(text.end());
    if (a_.restarted)
      lines_.push_back(line(in_.look, in_.columns).add(ink::warning, "the engine has restarted").end());
    if (!in_.note.empty()) lines_.push_back(line(in_.look, in_.columns).add(ink::alarm, in_.note).end());
  }

  void add_health() {
    const bool ok = now_.health == "ok";
    field_list fields = titled("health");
    fields.add({}, now_.health, ok ? ink::kind : now_.health == "wedged" ? ink::alarm : ink::warning);
    for (const std::string& why : now_.reasons) fields.add({}, why, ink::warning);
  }

  void add_blank() { lines_.emplace_back(); }

  void add_tasks() {
    field_list fields = titled("tasks");
    fields.add("finished", amount(a_.finished));
    fields.add("in flight", short_number(static_cast<double>(now_.in_flight)));
    fields.add("failed", amount(a_.failed), a_.failed == 0 ? ink::number : ink::warning);
    fields.add("refused", amount(a_.refused), a_.refused == 0 ? ink::number : ink::warning);
    fields.add("queued", short_number(static_cast<double>(now_.queued_injection)));
    if (now_.queued_latency != 0)
      fields.add("latency queued", short_number(static_cast<double>(now_.queued_latency)));
    if (now_.queued_background != 0)
      fields.add("background queued", short_number(static_cast<double>(now_.queued_background)));
    fields.add("timers", short_number(static_cast<double>(now_.timers_pending)));
  }

  void add_waits() {
    field_list fields = titled("waiting");
    const group_activity all = a_.in_all();
    for (const auto& [name, counts] : all.waits) {
      const quantiles q = quantiles_of(counts, now_.bounds_s);
      fields.add(name,
                 fmt::format("p50 {} p99 {}", bound_text(q, q.p50_s, now_), bound_text(q, q.p99_s, now_)));
      fields.add({}, counted(q.samples, "sample"), ink::line);
    }
  }

  void add_stolen() {
    field_list fields = titled("stolen");
    const group_activity all = a_.in_all();
    for (std::size_t l = 0; l < steal_levels; ++l) fields.add(level_titles[l], amount(all.stolen[l]));
  }

  void add_threads() {
    field_list fields = titled("spares");
    fields.add("idle", std::to_string(now_.spares));
    fields.add("tasks that want one", std::to_string(now_.waiting_for_a_seat),
               now_.waiting_for_a_seat == 0 ? ink::number : ink::warning);
    fields.add("exhausted", fmt::format("{} times", now_.spares_exhausted),
               a_.spares_exhausted == 0 ? ink::number : ink::alarm);
    if (now_.blocking_waiting != 0)
      fields.add("blocking calls waiting", std::to_string(now_.blocking_waiting), ink::warning);
    if (now_.cpu_quota != 0) {
      fields.add("quota", fmt::format("{:.3g} CPUs", now_.cpu_quota));
      fields.add("throttled",
                 a_.interval_s ? percent(a_.throttled_s / *a_.interval_s) : short_time(a_.throttled_s),
                 a_.throttled_s == 0 ? ink::number : ink::alarm);
    }
  }

  void add_kinds() {
    field_list fields = titled("kinds");
    for (const group_activity& kind : a_.by_kind()) {
      const auto share = a_.busy_share(kind);
      const std::string name = kind.kind.empty() ? "unknown" : kind.kind;
      fields.add(kind.workers == 0 ? name : fmt::format("{} {}", name, kind.capacity / kind.workers),
                 fmt::format("{} busy {} load {}", counted(kind.workers, "worker"), percent(share),
                             short_number(static_cast<double>(kind.load))),
                 ink_of_share(share.value_or(0)));
    }
  }

  void add_machine() {
    if (now_.machine_changes == 0) return;
    field_list fields = titled("machine");
    fields.add("changes", std::to_string(now_.machine_changes));
    if (!now_.last_machine_change.empty()) fields.add({}, now_.last_machine_change);
  }

  void add_stuck(const std::vector<stuck_task>& stuck, std::size_t rows) {
    const std::size_t shown = stuck.size() <= rows ? stuck.size() : std::max<std::size_t>(rows, 1) - 1;
    for (std::size_t i = 0; i < stuck.size() && i <= shown; ++i) {
      line text(in_.look, in_.columns);
      text.add(ink::title, i == 0 ? "stuck    " : "         ");
      if (i < shown)
        text.add(fmt::format("worker {} of group {}  ", stuck[i].worker, stuck[i].group))
            .add(ink::alarm, short_time(stuck[i].age_s))
            .add("  ")
            .add(stuck[i].name.empty() ? "a task without a name" : stuck[i].name);
      else
        text.add(ink::alarm, fmt::format("and {} more", stuck.size() - shown));
      lines_.push_back(text.end());
    }
  }

  const reading& now_;
  const activity& a_;
  const frame& in_;
  std::vector<std::string> lines_;
};

} // namespace

picture picture_of(const reading& now, const activity& before, const frame& in) {
  constexpr std::size_t least_table = 3; // a head, a group, the sum of the rest
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  const std::size_t rows = in.rows == 0 ? any : in.rows;
  painter paint(now, before, in);
  const std::size_t wanted = before.groups.size() + 1;
  const std::size_t for_stuck = rows / 4;
  const std::vector<std::string> below = paint.below(for_stuck);
  const std::size_t least = std::min(least_table, wanted) + below.size();
  picture out{paint.above(rows - std::min(rows, least))};
  const std::size_t used = out.lines.size() + below.size();
  add_group_table(out, now, before, in, rows - std::min(rows, used));
  out.lines.insert(out.lines.end(), below.begin(), below.end());
  if (out.lines.size() > rows) out.lines.resize(rows);
  return out;
}

std::string short_number(double number) {
  if (number < 9.95 && number != std::floor(number)) return fmt::format("{:.1f}", number);
  constexpr std::string_view units = " kMGTP";
  std::size_t unit = 0;
  for (; number >= 9999.5 && unit + 1 < units.size(); ++unit) number /= 1000;
  if (unit == 0) return fmt::format("{:.0f}", number);
  return fmt::format("{:.{}f}{}", number, number < 99.95 ? 1 : 0, units[unit]);
}

std::string short_time(double seconds) {
  const auto with = [](double number, std::string_view unit) {
    return fmt::format("{:.{}f}{}", number, number < 9.95 && unit != "us" ? 1 : 0, unit);
  };
  if (seconds < 1e-3) return with(seconds * 1e6, "us");
  if (seconds < 1) return with(seconds * 1e3, "ms");
  if (seconds < 100) return with(seconds, "s");
  return seconds < 6000 ? with(seconds / 60, "min") : with(seconds / 3600, "h");
}

} // namespace corewise::command
