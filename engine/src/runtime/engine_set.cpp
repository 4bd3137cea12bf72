#include "base/clock.hpp"
#include "base/utf8.hpp"
#include "profile/live_change.hpp"
#include "runtime/runtime.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/topology/error.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace corewise {

namespace {

using part_list = std::vector<detail::machine_share>;

constexpr std::size_t longest_name = 64;

std::uint32_t number_of(const topology& machine, machine_part kind, std::uint32_t index) {
  if (kind == machine_part::node) return machine.nodes()[index].os_index;
  const auto& id = machine.packages()[index].id;
  if (!id) throw topology_error("engines.per: package, but the machine's packages have no numbers");
  return *id;
}

/// Returns the packages or nodes that have cores. A machine without them is one part, and has none.
part_list parts_of(const profile& p) {
  const machine_part kind = p.engines.per;
  if (kind == machine_part::machine) return {};
  const topology machine = discover(p.topology.machine);
  std::map<std::uint32_t, double> capacities;
  double all = 0;
  for (const core& c : machine.cores()) {
    const std::optional<std::uint32_t>& index = kind == machine_part::node ? c.node : c.package;
    if (!index) return {};
    const double capacity = machine.kinds()[c.kind].capacity;
    capacities[number_of(machine, kind, *index)] += capacity;
    all += capacity;
  }
  part_list parts;
  for (const auto& [number, capacity] : capacities) parts.push_back({number, capacity / all});
  return parts;
}

/// Returns the profile of each part.
std::vector<profile> divided(const profile& p, const part_list& parts) {
  profile one = p;
  one.engines.per = machine_part::machine;
  if (parts.empty()) return {one};
  const bool nodes = p.engines.per == machine_part::node;
  std::vector<profile> profiles;
  for (const detail::machine_share& of : parts) {
    profile& its = profiles.emplace_back(one);
    const std::string suffix = fmt::format("/{}{}", nodes ? 'n' : 'p', of.number);
    its.name = std::string(detail::up_to(p.name, longest_name - suffix.size())) + suffix;
    auto& use = its.topology.machine.use;
    (nodes ? use.nodes : use.packages) = {of.number};
    its.workers.quota_part = of.of_quota;
  }
  return profiles;
}

/// Puts the engine's name before the lines of the log: the hooks of all engines are the same.
engine_hooks named(engine_hooks hooks, const std::string& name) {
  if (hooks.log)
    hooks.log = [log = std::move(hooks.log), name](std::string_view line) {
      std::string named_line;
      try {
        named_line = fmt::format("{}: {}", name, line);
      } catch (const std::bad_alloc&) {
        return log(line); // the line may be about that
      }
      log(named_line);
    };
  return hooks;
}

} // namespace

std::vector<profile> profiles_per_part(const profile& p) { return divided(p, parts_of(p)); }

engine_set::engine_set(const profile& p, const engine_hooks& hooks)
    : parts_(parts_of(p)),
      whole_(std::make_unique<const profile>(p)) {
  begin(divided(p, parts_), hooks);
}

engine_set::engine_set(const std::vector<profile>& profiles, const engine_hooks& hooks) {
  begin(profiles, hooks);
}

void engine_set::begin(const std::vector<profile>& profiles, const engine_hooks& hooks) {
  if (profiles.empty()) throw std::invalid_argument("engine_set: no profile");
  for (const profile& p : profiles) {
    if (std::ranges::find(names_, p.name) != names_.end())
      throw std::invalid_argument("engine_set: two engines have the name " + p.name);
    names_.push_back(p.name);
  }
  for (const profile& p : profiles)
    engines_.emplace_back(p, profiles.size() == 1 ? hooks : named(hooks, p.name));
}

engine_set::~engine_set() {
  try {
    static_cast<void>(end_each(std::chrono::seconds{0}, of_this_task() != nullptr
                                                            ? std::chrono::seconds{0}
                                                            : engine::destructor_deadline));
  } catch (const std::exception&) {
    return; // the engines' own destructors follow
  }
}

/// Returns the engine whose task the calling thread runs; null: it runs none of these.
engine* engine_set::of_this_task() noexcept {
  const auto runs_it = [](const engine& e) { return e.runtime_.get() == detail::this_execution.engine; };
  const auto own = std::ranges::find_if(engines_, runs_it);
  return own == engines_.end() ? nullptr : &*own;
}

engine* engine_set::find(std::string_view name) noexcept {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? nullptr : &engines_[static_cast<std::size_t>(found - names_.begin())];
}

engine& engine_set::local() noexcept {
  detail::forget_parent_process();
  if (engine* const own = of_this_task()) return *own;
  const int cpu = ::sched_getcpu();
  const auto is_here = [&](const engine& e) {
    return e.machine().is_this_system() && e.machine().cpus().contains(static_cast<std::uint32_t>(cpu));
  };
  const auto near = cpu < 0 ? engines_.end() : std::ranges::find_if(engines_, is_here);
  return near == engines_.end() ? engines_.front() : *near;
}

std::vector<shutdown_report> engine_set::shutdown(any_duration grace, any_duration deadline) {
  if (of_this_task() != nullptr)
    throw std::logic_error("engine_set::shutdown in a task of one of its engines would deadlock");
  return end_each(grace, deadline);
}

/// Each engine ends on a thread of its own: the tasks of one may wait for those of another, and all deadlines count from
/// the call.
std::vector<shutdown_report> engine_set::end_each(any_duration grace, any_duration deadline) {
  std::vector<shutdown_report> reports(engines_.size());
  if (engines_.front().runtime_->after_process_fork()) return reports; // without threads of its own
  std::vector<std::exception_ptr> errors(engines_.size());
  const auto end = [&](std::size_t i) noexcept {
    try {
      reports[i] = engines_[i].shutdown(grace, deadline);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  std::size_t begun = 1;
  {
    std::vector<detail::thread> threads;
    bool gets_threads = true; // and memory for them; else they end one after another
    {
      const detail::engine_signals::blocked in_them(engines_.front().runtime_->signals());
      while (begun < engines_.size() && gets_threads) try {
          threads.emplace_back(end, begun);
          ++begun;
        } catch (const std::exception&) {
          gets_threads = false;
        }
    }
    end(0);
    for (detail::thread& t : threads) t.join();
  }
  for (; begun < engines_.size(); ++begun) end(begun);
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  return reports;
}

apply_result engine_set::apply(const profile& p) {
  if (engines_.front().runtime_->after_process_fork()) return {.refused = {}, .in_child = true};
  const std::scoped_lock lock(mutex_);
  if (!whole_) throw std::logic_error("engine_set::apply: its engines have profiles of their own");
  if (apply_result refused{detail::what_needs_a_restart(*whole_, p)}; !refused.applied()) return refused;
  auto next = std::make_unique<const profile>(p);
  apply_result result = apply_each(divided(p, parts_));
  if (result.applied()) next.swap(whole_);
  return result;
}

/// Gives each engine its profile; where one refuses, those before it get back what they had.
apply_result engine_set::apply_each(const std::vector<profile>& next) {
  std::vector<profile> before;
  for (const engine& e : engines_) before.push_back(e.configuration());
  const auto revert = [&](std::size_t n) {
    while (n-- > 0) static_cast<void>(engines_[n].apply(std::move(before[n])));
  };
  for (std::size_t i = 0; i < engines_.size(); ++i) try {
      apply_result result = engines_[i].apply(next[i]);
      if (result.applied()) continue;
      revert(i);
      for (apply_result::reason& r : result.refused)
        if (engines_.size() > 1) r.why = fmt::format("{}: {}", names_[i], r.why);
      return result;
    } catch (...) {
      revert(i);
      throw;
    }
  return {};
}

std::optional<profile> engine_set::configuration() const {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!engines_.front().runtime_->after_process_fork()) lock.lock(); // else it may be held for ever
  return whole_ != nullptr ? std::optional(*whole_) : std::nullopt;
}

std::vector<metrics_snapshot> engine_set::metrics() const {
  std::vector<metrics_snapshot> all;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    metrics_snapshot& one = all.emplace_back(engines_[i].metrics());
    if (engines_.size() > 1) one.engine = names_[i];
  }
  return all;
}

} // namespace corewise
