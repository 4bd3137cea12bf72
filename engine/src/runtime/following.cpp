#include "runtime/runtime.hpp"
#include "runtime/wanted_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

// How an engine follows what the host allows it (ADR 0066).

namespace corewise {

namespace {

std::string cpus_text(const cpu_set& cpus) { return cpus.empty() ? "unknown" : cpus.to_string(); }

std::string quota_text(const std::optional<double>& quota) {
  return quota ? fmt::format("{:.3g} CPUs", *quota) : "none";
}

std::string speeds_text(const std::vector<std::uint32_t>& speeds, std::string_view of) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t slow = 0;
  for (std::size_t g = 0; g < speeds.size(); ++g)
    if (speeds[g] != 100 && ++slow <= most)
      text += fmt::format("{} group {} at {}%", slow == 1 ? "" : ",", g, speeds[g]);
  if (slow > most) text += fmt::format(", and {} more", slow - most);
  if (slow == 0) text = " all groups at 100%";
  return text + fmt::format(" of {};", of);
}

/// Says of which groups the memory comes from another node than before.
std::string moves_text(std::span<const std::optional<std::uint32_t>> before,
                       std::span<const std::optional<std::uint32_t>> now) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t moved = 0;
  for (std::size_t g = 0; g < now.size(); ++g)
    if (now[g] != before[g] && ++moved <= most)
      text += fmt::format("{} group {} takes it from {}", moved == 1 ? ":" : ",", g,
                          now[g] ? fmt::format("node {}", *now[g]) : "any node");
  if (moved > most) text += fmt::format(", and {} more from others", moved - most);
  return text + ";";
}

/// Says what changed, and what it led to. `moves`: what that is for the memory of groups.
std::string text_of(const machine_change& c, const std::string& moves) {
  std::string text = c.now == c.before ? "like tasks take other times than the capacities of cores say:" +
                                             speeds_text(c.measured, "its capacity")
                                       : "the host has changed what it allows:";
  if (c.now.cpus != c.before.cpus)
    text += fmt::format(" CPUs {}, before {};", cpus_text(c.now.cpus), cpus_text(c.before.cpus));
  else if (c.now.cpuset != c.before.cpuset)
    text += fmt::format(" cpuset {}, before {};", cpus_text(c.now.cpuset), cpus_text(c.before.cpuset));
  if (c.now.others != c.before.others)
    text += fmt::format(" {} others share them, before {};", c.now.others, c.before.others);
  if (c.now.quota_cpus != c.before.quota_cpus)
    text +=
        fmt::format(" quota {}, before {};", quota_text(c.now.quota_cpus), quota_text(c.before.quota_cpus));
  if (c.now.speeds != c.before.speeds) text += speeds_text(c.now.speeds, "the speed");
  if (c.now.nodes != c.before.nodes)
    text += fmt::format(" memory on nodes {}, before {}{}", cpus_text(c.now.nodes), cpus_text(c.before.nodes),
                        moves);
  if (c.workers_now == c.workers_before)
    return text + fmt::format(" still {} workers take tasks", c.workers_now);
  return text + fmt::format(" {} workers take tasks, before {}", c.workers_now, c.workers_before);
}

/// Returns whether the groups go at those speeds, in percent; empty: at full speed.
bool goes_at(const detail::shared& engine, std::span<const std::uint32_t> speeds) noexcept {
  return std::ranges::all_of(engine.groups().groups(), [&](const locality_group& g) {
    return engine.group(g.id).speed() == (speeds.empty() ? 100 : speeds[g.id.value]);
  });
}

} // namespace

/// The consequences of a look at the host.
struct runtime::followed {
  std::optional<machine_change> change;
  std::string advice; // for people; may be empty
  refusal untied;
  std::string doubt;        // the same
  bool calls = false;       // the supervisor
  bool lacks_seats = false; // for the workers that the host allows
};

std::optional<machine_change> runtime::follow(bool at_once) {
  if (after_process_fork()) return std::nullopt;
  followed now = go_by_host(at_once);
  // Without the lock: hooks may call the engine.
  if (now.calls) supervisor_.call();
  if (!now.doubt.empty()) notices_.warn_once(log_code::machine_changed, now.doubt);
  if (!now.change) return std::nullopt;
  const log_record::number numbers[] = {{"workers", now.change->workers_now},
                                        {"workers_before", now.change->workers_before}};
  notices_.log({.code = log_code::machine_changed, .numbers = numbers, .text = now.change->text});
  if (!now.advice.empty()) notices_.warn_once(log_code::machine_changed, now.advice);
  if (now.lacks_seats)
    notices_.warn_once(log_code::machine_changed,
                       "the host allows more workers than the engine has seats for: workers.headroom in the "
                       "profile gives it more seats from the next start on");
  if (now.untied) notices_.try_warn_once(log_code::not_pinned, "workers are not pinned again", *now.untied);
  return std::move(now.change);
}

/// Returns the speeds of the groups, in percent: what the host allows, and what was measured; empty: all of it.
std::vector<std::uint32_t> runtime::speeds_at(const host_allowance& allowed) const {
  return speed_meter_ ? speed_meter_->of(allowed.speeds) : allowed.speeds;
}

/// Makes the groups' new memory come from these nodes. Workers look when they take newer rules.
void runtime::place_memory(std::span<const std::optional<std::uint32_t>> nodes) noexcept {
  if (!wants_node_memory(*this)) return;
  for (std::size_t g = 0; g < nodes.size(); ++g) memory_[g]->move_to(nodes[g]);
}

/// Looks, and puts in force what has changed. Throws `std::bad_alloc`; then nothing has changed, but for where new memory
/// comes from.
runtime::followed runtime::go_by_host(bool at_once) {
  followed found;
  const std::scoped_lock lock(apply_mutex_);
  if (now() != stage::open) return found;
  profile settings = rules_.newest()->settings; // not replaced while the lock is held
  std::optional<host_allowance> next =
      host_.look(supervisor_.tid(), detail::monotonic::now(), at_once, settings.sharing);
  found.doubt = host_.doubt();
  machine_change change;
  change.before = host_.in_force();
  change.now = next ? *std::move(next) : change.before;
  if (speed_meter_) speed_meter_->look(*this, change.now.speeds);
  const std::vector<std::uint32_t> speeds = speeds_at(change.now);
  if (change.now == change.before && goes_at(*this, speeds)) return found;
  if (speed_meter_) change.measured.assign(speed_meter_->measured().begin(), speed_meter_->measured().end());
  cpu_set allowed = change.now.cpus;
  const std::vector<std::uint32_t> workers = detail::wanted_workers(*this, settings, change.now);
  for (const locality_group& g : groups_.groups()) change.workers_before += active_in(g.id);
  change.workers_now = std::accumulate(workers.begin(), workers.end(), std::uint32_t{0});
  found.lacks_seats = detail::lacks_seats(*this, settings, change.now, change.workers_now);
  if (!let_more_take(workers)) {
    found.doubt = detail::no_more_workers;
    return found;
  }
  const auto memory = detail::memory_nodes(machine_, groups_, change.now.nodes);
  const bool placed = settings.workers.memory == memory_on::node && machine_.nodes().size() > 1;
  change.text = text_of(
      change,
      placed ? moves_text(detail::memory_nodes(machine_, groups_, change.before.nodes), memory) : ";");
  host_allowance now = change.now;
  if (change.now.nodes != change.before.nodes) place_memory(memory);
  // Last of what may throw and would have to be undone.
  found.calls = put_in_force(std::move(settings), workers, speeds);
  host_.go_by(std::move(now));
  const bool of_host = change.now != change.before;
  if (of_host && !allowed.empty()) found.untied = threads_.tie_to(std::move(allowed));
  changes_.note(change.text);
  if (const cpu_set unknown = host_.unknown(); !unknown.empty())
    found.advice = "the host allows CPUs " + unknown.to_string() +
                   " too, of which nothing was known when the engine began: a restart would use them";
  if (const cpu_set unknown = host_.unknown_nodes(); !unknown.empty())
    found.advice += (found.advice.empty() ? "memory nodes " : "; memory nodes ") + unknown.to_string() +
                    " have come, of which nothing was known when the engine began: a restart would use them";
  found.change = std::move(change);
  return found;
}

/// Does so from the supervisor's thread.
void runtime::follow_host() noexcept {
  idle_->look_after_drivers();
  try {
    static_cast<void>(follow(false));
  } catch (const std::exception& e) {
    notices_.try_warn_once(log_code::machine_changed, "what the host allows is not followed", e.what());
  }
}

} // namespace corewise
