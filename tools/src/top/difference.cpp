#include "difference.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace corewise::command {

namespace {

void add(time_counts& to, const time_counts& more) {
  if (to.size() < more.size()) to.resize(more.size());
  std::transform(more.begin(), more.end(), to.begin(), to.begin(), std::plus<>());
}

/// Takes counters of the same engine from each other, and notes whether they are.
class subtraction {
 public:
  template <class T> T of(T before, T now) {
    same_ = same_ && now >= before;
    return now - before;
  }
  time_counts of(const time_counts& before, const time_counts& now) {
    if (before.size() != now.size()) same_ = false;
    time_counts out = now;
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) out[i] = of(before[i], now[i]);
    return out;
  }
  std::map<std::string, time_counts> of(const std::map<std::string, time_counts>& before,
                                        const std::map<std::string, time_counts>& now) {
    std::map<std::string, time_counts> out = now;
    for (const auto& [name, counts] : before) {
      const auto found = now.find(name);
      if (found == now.end()) // a class that has had tasks stays
        same_ = false;
      else
        out[name] = of(counts, found->second);
    }
    return out;
  }
  bool same() const noexcept { return same_; }
  void not_the_same() noexcept { same_ = false; }

 private:
  bool same_ = true;
};

group_activity activity_of(const group_reading& g) {
  return {g.kind, g.workers, g.capacity, g.load, g.standing, g.busy_s, g.executed, g.stolen, g.waits};
}

/// Returns what has happened since the engine began.
activity since_begin(const reading& now) {
  activity a;
  a.finished = now.finished;
  a.failed = now.failed;
  a.refused = now.refused;
  a.spares_exhausted = now.spares_exhausted;
  a.throttled_s = now.throttled_s;
  for (const group_reading& g : now.groups) a.groups.push_back(activity_of(g));
  return a;
}

group_activity difference(subtraction& minus, const group_reading& before, const group_reading& now) {
  if (before.id != now.id) minus.not_the_same();
  group_activity g = activity_of(now);
  g.busy_s = minus.of(before.busy_s, now.busy_s);
  g.executed = minus.of(before.executed, now.executed);
  for (std::size_t l = 0; l < steal_levels; ++l) g.stolen[l] = minus.of(before.stolen[l], now.stolen[l]);
  g.waits = minus.of(before.waits, now.waits);
  return g;
}

} // namespace

std::uint64_t group_activity::stolen_in_all() const noexcept {
  return std::accumulate(stolen.begin(), stolen.end(), std::uint64_t{0});
}

group_activity& group_activity::operator+=(const group_activity& other) {
  workers += other.workers;
  capacity += other.capacity;
  load += other.load;
  standing += other.standing;
  busy_s += other.busy_s;
  executed += other.executed;
  for (std::size_t l = 0; l < steal_levels; ++l) stolen[l] += other.stolen[l];
  for (const auto& [name, counts] : other.waits) add(waits[name], counts);
  return *this;
}

group_activity activity::in_all() const {
  return std::accumulate(groups.begin(), groups.end(), group_activity{},
                         [](group_activity sum, const group_activity& g) { return sum += g; });
}

std::vector<group_activity> activity::by_kind() const {
  std::vector<group_activity> kinds;
  for (const group_activity& g : groups) {
    auto of = std::ranges::find(kinds, g.kind, &group_activity::kind);
    if (of == kinds.end()) {
      of = kinds.emplace(kinds.end());
      of->kind = g.kind;
    }
    *of += g;
  }
  std::ranges::stable_sort(kinds, [](const group_activity& a, const group_activity& b) {
    return a.capacity * b.workers > b.capacity * a.workers; // of one worker
  });
  return kinds;
}

std::optional<double> activity::busy_share(const group_activity& of) const noexcept {
  if (!interval_s || *interval_s <= 0 || of.workers == 0) return std::nullopt;
  return std::min(1.0, of.busy_s / (*interval_s * static_cast<double>(of.workers)));
}

activity between(const reading* before, const reading& now) {
  activity a = since_begin(now);
  if (before == nullptr) return a;
  subtraction minus;
  a.interval_s = minus.of(before->at_s, now.at_s);
  a.finished = minus.of(before->finished, now.finished);
  a.failed = minus.of(before->failed, now.failed);
  a.refused = minus.of(before->refused, now.refused);
  a.spares_exhausted = minus.of(before->spares_exhausted, now.spares_exhausted);
  a.throttled_s = std::max(0.0, now.throttled_s - before->throttled_s); // the group's, not the engine's
  if (before->groups.size() != now.groups.size() || before->bounds_s != now.bounds_s) minus.not_the_same();
  for (std::size_t i = 0; i < std::min(before->groups.size(), now.groups.size()); ++i)
    a.groups[i] = difference(minus, before->groups[i], now.groups[i]);
  if (minus.same()) return a;
  a = since_begin(now);
  a.restarted = true;
  return a;
}

time_counts all_classes(const std::map<std::string, time_counts>& of) {
  time_counts sum;
  for (const auto& [name, counts] : of) add(sum, counts);
  return sum;
}

quantiles quantiles_of(const time_counts& counts, const std::vector<double>& bounds_s) {
  quantiles q;
  q.samples = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const auto quantile = [&](double part) -> std::optional<double> {
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < bounds_s.size() && i < counts.size(); ++i) {
      passed += counts[i];
      if (passed != 0 && static_cast<double>(passed) >= part * static_cast<double>(q.samples))
        return bounds_s[i];
    }
    return std::nullopt;
  };
  if (q.samples != 0) q.p50_s = quantile(.5), q.p99_s = quantile(.99);
  return q;
}

} // namespace corewise::command
