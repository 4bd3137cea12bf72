#include "runtime/runtime.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/topology/error.hpp>

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace corewise {

namespace {

/// One part of a machine.
struct part {
  std::uint32_t number; ///< as the operating system counts packages or nodes
  std::uint64_t capacity;
};

std::uint32_t number_of(const topology& machine, machine_part kind, std::uint32_t index) {
  if (kind == machine_part::node) return machine.nodes()[index].os_index;
  const auto& id = machine.packages()[index].id;
  if (!id) throw topology_error("engines.per: package, but the machine's packages have no numbers");
  return *id;
}

/// Returns the packages or nodes that have cores. A machine without them is one part, and has none.
std::vector<part> parts_of(const topology& machine, machine_part kind) {
  std::vector<part> parts;
  for (const core& c : machine.cores()) {
    const std::optional<std::uint32_t>& index = kind == machine_part::node ? c.node : c.package;
    if (!index) return {};
    const std::uint32_t number = number_of(machine, kind, *index);
    const auto found = std::ranges::find(parts, number, &part::number);
    part& of = found != parts.end() ? *found : parts.emplace_back(part{number, 0});
    of.capacity += machine.kinds()[c.kind].capacity;
  }
  std::ranges::sort(parts, {}, &part::number);
  return parts;
}

/// Puts the engine's name before the lines of the log: the hooks of all engines are the same.
engine_hooks named(engine_hooks hooks, const std::string& name) {
  if (hooks.log)
    hooks.log = [log = std::move(hooks.log), name](std::string_view line) {
      log(fmt::format("{}: {}", name, line));
    };
  return hooks;
}

} // namespace

std::vector<profile> profiles_per_part(const profile& p) {
  const machine_part kind = p.engines.per;
  std::vector<part> parts;
  if (kind != machine_part::machine) parts = parts_of(discover(p.topology.machine), kind);
  profile one = p;
  one.engines.per = machine_part::machine;
  if (parts.empty()) return {one};
  std::uint64_t all = 0;
  for (const part& of : parts) all += of.capacity;
  std::vector<profile> profiles;
  for (const part& of : parts) {
    profile& its = profiles.emplace_back(one);
    its.name = fmt::format("{}/{}{}", p.name, kind == machine_part::node ? 'n' : 'p', of.number);
    auto& use = its.topology.machine.use;
    (kind == machine_part::node ? use.nodes : use.packages) = {of.number};
    its.workers.quota_part = static_cast<double>(of.capacity) / static_cast<double>(all);
  }
  return profiles;
}

engine_set::engine_set(const profile& p, const engine_hooks& hooks) : whole_(p) {
  begin(profiles_per_part(p), hooks);
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
    static_cast<void>(shutdown(engine::destructor_deadline));
  } catch (const std::exception&) { // the engines' own destructors follow
  }
}

engine* engine_set::find(std::string_view name) noexcept {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? nullptr : &engines_[static_cast<std::size_t>(found - names_.begin())];
}

engine& engine_set::local() noexcept {
  detail::leave_parent();
  const auto runs_this = [](const engine& e) { return e.runtime_.get() == detail::this_execution.engine; };
  if (const auto own = std::ranges::find_if(engines_, runs_this); own != engines_.end()) return *own;
  const int cpu = ::sched_getcpu();
  const auto is_here = [&](const engine& e) {
    return e.machine().is_this_system() && e.machine().cpus().contains(static_cast<std::uint32_t>(cpu));
  };
  const auto near = cpu < 0 ? engines_.end() : std::ranges::find_if(engines_, is_here);
  return near == engines_.end() ? engines_.front() : *near;
}

/// Each engine ends on a thread of its own: the tasks of one may wait for those of another, and all deadlines count from
/// the call.
std::vector<shutdown_report> engine_set::shutdown(any_duration grace, any_duration deadline) {
  for (const engine& e : engines_)
    if (detail::this_execution.engine == e.runtime_.get())
      throw std::logic_error("engine_set::shutdown in a task of one of its engines would deadlock");
  std::vector<shutdown_report> reports(engines_.size());
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
    std::vector<std::jthread> threads;
    try {
      for (; begun < engines_.size(); ++begun) threads.emplace_back(end, begun);
    } catch (const std::exception&) { // no thread, no memory: one after another
    }
    end(0);
  }
  for (; begun < engines_.size(); ++begun) end(begun);
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  return reports;
}

apply_result engine_set::apply(const profile& p) {
  const std::scoped_lock lock(mutex_);
  if (!whole_) throw std::logic_error("engine_set::apply: its engines have profiles of their own");
  profile all = p;
  apply_result result;
  if (p.engines.per != whole_->engines.per)
    result.refused.push_back({"engines.per", "the set has its engines until a restart"});
  all.engines.per = whole_->engines.per;
  const std::vector<profile> next = profiles_per_part(all);
  if (next.size() != engines_.size())
    result.refused.push_back(
        {"topology.use", fmt::format("found {} parts of the machine; the set has {} engines until a restart",
                                     next.size(), engines_.size())});
  if (result.applied()) result = apply_each(next);
  if (result.applied()) whole_ = std::move(all);
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
  const std::scoped_lock lock(mutex_);
  return whole_;
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
