#include "runtime/host_follower.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace corewise::detail {

namespace {

/// Returns the smaller of two quotas.
std::optional<double> tighter(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::min(a, b) : (a ? a : b);
}

/// Returns the lower speed of each group.
std::vector<std::uint32_t> slower(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> least = a.empty() ? b : a;
  for (std::size_t g = 0; g < least.size() && !b.empty(); ++g) least[g] = std::min(least[g], b[g]);
  return least;
}

/// Returns the CPUs of both; an unknown set restricts nothing.
cpu_set in_both(const cpu_set& a, const cpu_set& b) { return a.empty() ? b : b.empty() ? a : a & b; }

} // namespace

host_follower::host_follower(const profile& p, const topology& machine, const locality_groups& groups)
    : machine_(&machine),
      groups_(&groups) {
  const auto* const live = std::get_if<live_source>(&p.topology.machine.source);
  if (live == nullptr) return;
  root_ = live->root;
  begin_ = in_force_ = seen_ = read_ = read_host_allowance(*root_);
  readable_ = readable_allowance_files(*root_);
  begin_.speeds =
      read_speeds(*root_, machine, groups); // the engine begins at full speed, and looks once more
  firmware_.emplace(*root_, machine, groups);
  if (p.topology.hfi) try {
      events_.emplace(capability_events::subscribe());
    } catch (const topology_error& e) {
      deaf_ = e.what();
    }
  if (p.sharing.file.empty()) return;
  name_ = p.name;
  shares_.emplace(p.sharing.file, sharer{name_, p.sharing.weight, in_both(machine.cpus(), begin_.cpus)});
}

std::optional<host_allowance> host_follower::look(pid_t thread, monotonic::time_point now, bool at_once,
                                                  const profile::sharing_section& sharing) {
  if (!root_) return std::nullopt;
  host_allowance seen = read_host_allowance(*root_, thread);
  if (thread == 0) seen.cpus = in_both(seen.cpuset, begin_.cpus); // the calling thread may be pinned
  // A file that cannot be read looks like no limit. Without descriptors, /proc or /sys, the last reading holds.
  const bool lost = readable_allowance_files(*root_) < readable_;
  if (lost)
    seen = read_;
  else
    read_ = seen;
  seen.speeds = lost ? seen_.speeds : speeds();
  doubt_ = deaf_;
  if (shares_) share(seen, sharing.weight);
  return see(std::move(seen), now, at_once);
}

/// Returns what the host allows the groups of their speed: what was set, or what the firmware or the hardware has left if
/// that is less. One lowers the others, so they are not multiplied.
std::vector<std::uint32_t> host_follower::speeds() {
  const std::vector<std::uint32_t> set = slower(read_speeds(*root_, *machine_, *groups_), firmware_->read());
  return events_ ? slower(set, speeds_by(events_->read(), *groups_)) : set;
}

/// Leaves the engine its share of what the host allows. Where the others cannot be seen, the last share holds.
void host_follower::share(host_allowance& seen, std::uint32_t weight) {
  const cpu_set own = in_both(machine_->cpus(), seen.cpus);
  try {
    const share_file::view now = shares_->look({name_, weight, own});
    share_ = share_of(*machine_, now.all, now.own);
    seen.others = static_cast<std::uint32_t>(now.all.size() - 1);
    if (now.replaced)
      doubt_ = "sharing.file leads to another file now, or to none: a restart would share by that one";
    else if (now.unreadable != 0)
      doubt_ = fmt::format(
          "{} others that share the machine have written what cannot be understood: they are left out",
          now.unreadable);
  } catch (const topology_error& e) {
    doubt_ = e.what();
    seen.others = seen_.others;
  }
  if (seen.others != 0 && share_.intersects(own)) seen.cpus = share_ & own;
}

std::optional<host_allowance> host_follower::see(host_allowance seen, monotonic::time_point now,
                                                 bool at_once) {
  if (seen.cpus != seen_.cpus || seen.cpuset != seen_.cpuset || seen.others != seen_.others)
    cpus_since_ = now;
  if (seen.quota_cpus != seen_.quota_cpus) quota_since_ = now;
  if (seen.speeds != seen_.speeds) speeds_since_ = now;
  if (seen.nodes != seen_.nodes) nodes_since_ = now;
  seen_ = std::move(seen);
  host_allowance next = seen_;
  const auto waits = [&](monotonic::time_point since) { return !at_once && now - since < calm; };
  if (waits(cpus_since_)) {
    next.cpus = in_both(in_force_.cpus, seen_.cpus);
    next.cpuset = in_both(in_force_.cpuset, seen_.cpuset);
    if (next.cpus == in_force_.cpus) next.others = in_force_.others;
  }
  if (waits(quota_since_)) next.quota_cpus = tighter(in_force_.quota_cpus, seen_.quota_cpus);
  if (waits(speeds_since_)) next.speeds = slower(in_force_.speeds, seen_.speeds);
  if (waits(nodes_since_)) next.nodes = in_both(in_force_.nodes, seen_.nodes);
  if (next.nodes.empty()) next.nodes = seen_.nodes;
  if (next.cpus.empty()) next.cpus = seen_.cpus; // others, of which none was allowed before
  if (next == in_force_) return std::nullopt;
  return next;
}

cpu_set host_follower::unknown_nodes() const {
  cpu_set more = in_force_.nodes - begin_.nodes;
  if (machine_ != nullptr)
    for (const numa_node& n : machine_->nodes()) more.erase(n.os_index);
  return more;
}

cpu_set host_follower::unknown() const {
  cpu_set more = in_force_.cpus - begin_.cpus;
  // The mask of a thread that the engine has tied does not grow with the cpuset; a mask of the program's own keeps it out.
  const bool of_the_cpuset = !begin_.cpuset.empty() && begin_.cpus == begin_.cpuset;
  if (of_the_cpuset) more |= in_force_.cpuset - begin_.cpuset;
  return more;
}

} // namespace corewise::detail
