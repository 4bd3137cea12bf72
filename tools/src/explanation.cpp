#include "explanation.hpp"

#include <corewise/policies/origin.hpp>
#include <corewise/policies/still_boards.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace corewise::command {

namespace {

constexpr std::size_t rows_most = 24;

still_boards boards_of(const load_state& state, const divided_machine& m) {
  still_boards boards(m.groups, m.workers);
  for (const auto& [w, load] : state.load) boards.set_load(w, load);
  for (const worker_id w : state.blocking) boards.set_unavailable(w);
  return boards;
}

task_origin origin_of(const load_state& state, const divided_machine& m, placement_rng& rng) {
  if (state.origin.worker) return origin_from_worker(m.workers, *state.origin.worker);
  return origin_from_outside(m.groups, m.workers, state.origin.cpu, rng);
}

std::string_view level_name(level l) {
  switch (l) {
  case level::same_group: return "the same group";
  case level::same_domain: return "the same domain";
  case level::same_node: return "the same NUMA node";
  case level::same_package: return "the same package";
  case level::cross_package: return "another package";
  }
  return "";
}

class explanation_text {
 public:
  explanation_text(const explanation& e, const load_state& state, const divided_machine& m, const style& look)
      : e_(e),
        state_(state),
        m_(m),
        look_(look) {}

  std::string text() const { return where_to() + where_from() + why() + hint() + left_out() + table(); }

 private:
  std::string worker(worker_id w) const {
    const worker_place& place = m_.workers[w];
    return fmt::format("worker {} (group {}, {}, CPU {})", w.value, place.group.value, kind_of(place.group),
                       place.cpu);
  }

  std::string kind_of(group_id g) const {
    return fmt::format("{} {}", m_.machine.kinds()[m_.groups[g].kind].name, m_.groups[g].capacity);
  }

  std::string where_to() const {
    if (e_.chosen.injected)
      return look_.paint(ink::title, fmt::format("The task goes to the injection queue of group {} ({})",
                                                 e_.chosen.group.value, kind_of(e_.chosen.group))) +
             fmt::format(".\nThe first free worker takes it; the engine wakes {} for it.\n",
                         worker(e_.chosen.worker));
    return look_.paint(ink::title, "The task goes to " + worker(e_.chosen.worker)) + ".\n";
  }

  std::string where_from() const {
    if (e_.origin.worker)
      return fmt::format("It comes from {}, so it {}.\n", worker(*e_.origin.worker), distance_gone());
    const std::string cpu = state_.origin.cpu ? fmt::format("on CPU {}", *state_.origin.cpu)
                                              : fmt::format("nowhere in particular (seed {})", state_.seed);
    return fmt::format("It comes from outside, {}: home is the domain of group {}. So it {}.\n", cpu,
                       e_.origin.group.value, distance_gone());
  }

  std::string distance_gone() const {
    if (e_.origin.worker == e_.chosen.worker && !e_.chosen.injected) return "stays where it is";
    if (e_.chosen.level == level::same_group)
      return e_.origin.worker ? "stays in its group" : "stays in its home domain";
    return fmt::format("goes to {} (level {})", level_name(e_.chosen.level),
                       static_cast<int>(e_.chosen.level));
  }

  std::string why() const { return fmt::format("Why: {}. {}\n", reason(), price()); }

  std::string price() const {
    if (e_.score_unit.empty()) return "This policy compares neither loads nor distances.";
    return fmt::format("Score {:.4g} + penalty {:.4g} = cost {:.4g}, in {}.", e_.chosen.score,
                       e_.chosen.cost - e_.chosen.score, e_.chosen.cost, e_.score_unit);
  }

  std::string_view reason() const {
    switch (e_.chosen.reason) {
    case placement_reason::own_queue: return "no other worker is cheaper than the submitter's own queue";
    case placement_reason::idle_nearby:
      return "it is idle and of the fastest kind at home: nothing can be cheaper";
    case placement_reason::least_cost: return "it is the cheapest of all groups' lightest workers";
    case placement_reason::own_core:
      return "it is on the submitter's core, and has less than twice as many tasks as the cheapest worker, "
             "which is of the same group: where short tasks wait in rows, that counts as equal";
    case placement_reason::hinted: return "it is the policy's choice among those that the hint allows";
    case placement_reason::fewest_queued: return "no other worker has fewer tasks queued";
    case placement_reason::lighter_of_two:
      return "it is the lighter of two workers drawn at random, or the other is as light";
    case placement_reason::least_active: return "no other worker has been less active recently";
    case placement_reason::kept_local: return "a worker keeps the tasks that it submits";
    case placement_reason::injected: return "a task from outside goes to an injection queue";
    case placement_reason::next_in_turn: return "it is this worker's turn";
    case placement_reason::drawn: return "it was drawn at random";
    }
    return "";
  }

  std::string hint() const {
    if (state_.hint.empty() || e_.chosen.reason == placement_reason::hinted) return "";
    return "No available worker fulfils the hint, so the hint is ignored.\n";
  }

  std::string left_out() const {
    if (state_.blocking.empty()) return "";
    std::vector<std::uint32_t> ids;
    for (const worker_id w : state_.blocking) ids.push_back(w.value);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    if (ids.size() == m_.workers.size())
      return "All workers are in blocking calls, so the policy ignores that.\n";
    return fmt::format("Left out, because in blocking calls: {}.\n", fmt::join(ids, ", "));
  }

  /// Writes the table; nothing where the policy weighed nothing.
  std::string table() const {
    if (e_.score_unit.empty()) return "";
    std::vector<considered> rows = e_.weighed;
    std::stable_sort(rows.begin(), rows.end(), [](const considered& a, const considered& b) {
      return a.score + a.penalty < b.score + b.penalty;
    });
    std::string text = '\n' + row("group", "kind", "lightest worker", "load", "score", "penalty", "cost");
    for (std::size_t i = 0; i < std::min(rows.size(), rows_most); ++i) text += row_of(rows[i]);
    if (rows.size() > rows_most)
      text += fmt::format("  and {} more that cost no less\n", rows.size() - rows_most);
    return text;
  }

  std::string row_of(const considered& c) const {
    const auto load = state_.load.find(c.lightest);
    std::string text =
        row(fmt::to_string(c.group.value), kind_of(c.group), fmt::to_string(c.lightest.value),
            fmt::to_string(load == state_.load.end() ? 0 : load->second), fmt::format("{:.4g}", c.score),
            fmt::format("{:.4g}", c.penalty), fmt::format("{:.4g}", c.score + c.penalty));
    if (c.lightest != e_.chosen.worker) return text;
    text.pop_back();
    return look_.paint(ink::group, text + std::string(look_.glyph("  ◄", "  <"))) + '\n';
  }

  static std::string row(std::string_view group, std::string_view kind, std::string_view lightest,
                         std::string_view load, std::string_view score, std::string_view penalty,
                         std::string_view cost) {
    return fmt::format("  {:>5}  {:<12}{:>16}{:>8}{:>10}{:>10}{:>10}\n", group, kind, lightest, load, score,
                       penalty, cost);
  }

  const explanation& e_;
  const load_state& state_;
  const divided_machine& m_;
  const style& look_;
};

} // namespace

explanation explain(const load_state& state, const divided_machine& m, const profile& p) {
  const auto asked = make_policy(p.dispatch.policy, m.groups, m.workers, weights_of(p));
  if (!asked)
    throw std::runtime_error(fmt::format("dispatch.policy: no policy is called `{}`; there are {}",
                                         p.dispatch.policy, fmt::join(policy_names(), ", ")));
  const still_boards boards = boards_of(state, m);
  const load_view loads = boards.view(state.task_time_ns);
  placement_rng rng(state.seed);
  placement_cursor cursor;
  const task_origin origin = origin_of(state, m, rng);
  std::vector<considered> weighed = asked->consider(loads, origin, state.hint, rng, cursor);
  return {origin, asked->place(loads, origin, state.hint, rng, cursor), std::move(weighed),
          asked->score_unit()};
}

json json_of(const explanation& e) {
  json weighed = json::array();
  for (const considered& c : e.weighed)
    weighed.push_back({{"group", c.group.value},
                       {"lightest", c.lightest.value},
                       {"score", c.score},
                       {"penalty", c.penalty}});
  return {{"worker", e.chosen.worker.value},
          {"group", e.chosen.group.value},
          {"level", static_cast<int>(e.chosen.level)},
          {"score", e.chosen.score},
          {"cost", e.chosen.cost},
          {"reason", to_string(e.chosen.reason)},
          {"considered", weighed}};
}

std::string text_of(const explanation& e, const load_state& state, const divided_machine& m,
                    const style& look) {
  return explanation_text(e, state, m, look).text();
}

} // namespace corewise::command
