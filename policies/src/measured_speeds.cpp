#include <corewise/policies/measured_speeds.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace corewise {

namespace {

constexpr double step = 0.25;       // of a difference, in one correction
constexpr double sure = 4;          // a difference counts from so many times its standard error on
constexpr double least = 0.07;      // of the logarithm, 5%: smaller differences are left alone
constexpr double least_error = .02; // of a mean: what clocks, turbo and neighbours do to all tasks of a while
constexpr double most_kept = 8192;  // samples of a kind on a group: with more, the older half counts less
constexpr double least_fresh = 32;  // samples between two corrections of a group
constexpr double shortest = 10;     // tasks below 1 us: reading the clock takes too large a part of them
constexpr std::chrono::minutes remembered{10};
constexpr std::uint32_t least_percent = 10;
constexpr std::uint32_t step_percent = 5;

} // namespace

std::uint64_t log_times::log_of(std::chrono::nanoseconds time) noexcept {
  return static_cast<std::uint64_t>(std::log2(static_cast<double>(std::max<std::int64_t>(time.count(), 1))) *
                                    unit);
}

/// Adds what came between the two. On a group with half the capacity a task should take twice as long: one less.
void measured_speeds::evidence::add(const log_times& before, const log_times& now,
                                    double capacity_log2) noexcept {
  const auto n = static_cast<double>(now.count - before.count);
  const double logs = static_cast<double>(now.sum - before.sum) / log_times::unit;
  const double log_squares =
      static_cast<double>(now.squares - before.squares) / (log_times::unit * log_times::unit);
  count += n;
  sum += logs + n * capacity_log2;
  squares += log_squares + 2 * capacity_log2 * logs + n * capacity_log2 * capacity_log2;
  if (count > most_kept) fade();
}

void measured_speeds::evidence::fade() noexcept {
  count /= 2;
  sum /= 2;
  squares /= 2;
}

double measured_speeds::evidence::variance_of_mean() const noexcept {
  const double variance = std::max(squares / count - mean() * mean(), 0.0);
  return variance / count + least_error * least_error;
}

measured_speeds::measured_speeds(const locality_groups& groups)
    : groups_(groups),
      by_group_(groups.size()),
      percent_(groups.size(), 100) {
  for (const locality_group& g : groups.groups())
    by_group_[g.id.value].capacity_log2 = std::log2(static_cast<double>(g.capacity) / full_capacity);
}

void measured_speeds::take(std::size_t kind, group_id g, const log_times& so_far) {
  if (kind >= kinds_.size()) kinds_.resize(kind + 1, std::vector<cell>(by_group_.size()));
  kinds_[kind][g.value].newest = so_far;
}

void measured_speeds::learn(std::span<const std::uint32_t> allowed, std::chrono::nanoseconds now) {
  const bool changed = !std::ranges::equal(allowed, allowed_);
  if (changed)
    allowed_.assign(allowed.begin(), allowed.end()); // some of the newest tasks ran before, some after
  for (std::vector<cell>& kind : kinds_)
    for (std::size_t g = 0; g < kind.size(); ++g) {
      cell& c = kind[g];
      group& of = by_group_[g];
      const std::uint64_t more = c.newest.count - c.seen.count;
      if (more != 0) of.seen_at = now;
      if (!changed) { // also where the count is the same: of a run that was seen in part the rest may come
        const double part = allowed_.empty() ? 0 : std::log2(allowed_[g] / 100.0);
        c.of.add(c.seen, c.newest, of.capacity_log2 + part);
        of.fresh += static_cast<double>(more);
      }
      c.seen = c.newest;
    }
  forget(now);
  if (correct(differences())) show();
}

/// Returns how much faster each group is than its speed says, beside the other groups that run the same kinds.
std::vector<measured_speeds::difference> measured_speeds::differences() const {
  std::vector<difference> all(by_group_.size());
  for (const std::vector<cell>& kind : kinds_) {
    // The logarithm that a task of the kind would have on the fastest core, if all speeds were right.
    double size = 0;
    double certainty = 0;
    for (std::size_t g = 0; g < kind.size(); ++g)
      if (const evidence& e = kind[g].of; e.enough()) {
        size += (e.mean() + by_group_[g].speed_log2) / e.variance_of_mean();
        certainty += 1 / e.variance_of_mean();
      }
    if (certainty == 0 || size / certainty < shortest) continue;
    size /= certainty;
    for (std::size_t g = 0; g < kind.size(); ++g)
      if (const evidence& e = kind[g].of; e.enough()) {
        const double others = certainty - 1 / e.variance_of_mean();
        if (others <= 0) continue; // the kind runs nowhere else
        const double by_others = 1 / (e.variance_of_mean() + 1 / others);
        // `size` has the group's own part in it.
        const double beside = (size - e.mean() - by_group_[g].speed_log2) * certainty / others;
        all[g].log2 += by_others * beside;
        all[g].certainty += by_others;
      }
  }
  for (difference& d : all)
    if (d.certainty > 0) d.log2 /= d.certainty;
  return all;
}

/// Returns how much faster the fastest of the measured groups are than the fastest of them are said to be. Of groups with
/// one capacity the median counts, so that one that was taken for faster does not slow down all others.
double measured_speeds::fastest_off() const {
  std::map<double, std::vector<double>> speeds; // by capacity
  for (const group& g : by_group_)
    if (g.measured) speeds[g.capacity_log2].push_back(g.speed_log2);
  double real = -std::numeric_limits<double>::infinity();
  for (auto& [capacity, of] : speeds) {
    const auto median = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
    std::ranges::nth_element(of, median);
    real = std::max(real, capacity + *median);
  }
  return real - speeds.rbegin()->first;
}

/// Corrects groups that differ for certain. Returns whether there are any.
bool measured_speeds::correct(const std::vector<difference>& by) {
  bool corrected = false;
  for (std::size_t g = 0; g < by.size(); ++g) {
    group& of = by_group_[g];
    if (by[g].certainty == 0 || of.fresh < least_fresh) continue;
    of.fresh = 0;
    of.measured = true;
    const double error = 1 / std::sqrt(by[g].certainty);
    const double limit = of.differs ? std::max(least / 2, error) : std::max(least, sure * error);
    of.differs = std::abs(by[g].log2) >= limit;
    if (!of.differs) continue;
    of.speed_log2 += step * by[g].log2;
    corrected = true;
  }
  if (!corrected) return false;
  const double off = fastest_off();
  for (group& g : by_group_)
    if (g.measured) g.speed_log2 -= off;
  return true;
}

/// Goes back, step by step, to what the machine says of groups that have not run tasks for long: it may be right again.
void measured_speeds::forget(std::chrono::nanoseconds now) {
  bool forgot = false;
  for (std::size_t g = 0; g < by_group_.size(); ++g) {
    group& of = by_group_[g];
    if (!of.measured || now - of.seen_at < remembered) continue;
    of.seen_at = now;
    of.speed_log2 = std::abs(of.speed_log2) < least ? 0 : of.speed_log2 * (1 - step);
    for (std::vector<cell>& kind : kinds_) kind[g].of = {};
    forgot = true;
  }
  if (forgot) show();
}

/// Makes percents of the speeds. One changes only when it is wrong by more than the half of a step, so that it does not go
/// to and fro.
void measured_speeds::show() {
  for (const locality_group& g : groups_.groups()) {
    const double percent = 100 * std::exp2(by_group_[g.id.value].speed_log2);
    std::uint32_t& shown = percent_[g.id.value];
    if (std::abs(percent - shown) <= 0.8 * step_percent) continue;
    const std::uint32_t most = 100 * full_capacity / g.capacity / step_percent * step_percent;
    const auto steps = static_cast<std::uint32_t>(std::lround(percent / step_percent));
    shown = std::clamp(steps * step_percent, least_percent, std::max(least_percent, most));
  }
}

} // namespace corewise
