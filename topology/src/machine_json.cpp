#include <corewise/topology/machine_json.hpp>

#include <nlohmann/json.hpp>

#include <optional>

namespace corewise {

namespace {

using json = nlohmann::ordered_json;

/// A machine and how it is divided.
struct division {
  const topology& machine;
  const locality_groups& groups;
  const worker_layout& workers;
};

template <class T> json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json or_null(const std::optional<cpu_set>& cpus) { return cpus ? json(cpus->to_string()) : json(nullptr); }

/// Makes an array, also when there is nothing to put into it.
template <class List, class Describe> json each(const List& list, Describe describe) {
  json array = json::array();
  for (const auto& item : list) array.push_back(describe(item));
  return array;
}

json describe_package(const package& p) { return {{"id", or_null(p.id)}, {"cpus", p.cpus.to_string()}}; }

json describe_node(const numa_node& n) {
  return {{"os_index", n.os_index},
          {"cpus", n.cpus.to_string()},
          {"home_cpus", n.home_cpus.to_string()},
          {"memory_bytes", n.memory_bytes}};
}

json describe_cache(const last_level_cache& c) { return {{"level", c.level}, {"cpus", c.cpus.to_string()}}; }

json describe_kind(const core_kind& k) {
  return {{"rank", k.rank},
          {"name", k.name},
          {"cpus", k.cpus.to_string()},
          {"capacity", k.capacity},
          {"source", k.source}};
}

json describe_distances(const std::optional<node_distances>& d) {
  if (!d) return nullptr;
  return {{"nodes", d->nodes}, {"matrix", d->matrix}};
}

json describe_limits(const division& m) {
  const host_limits& l = m.machine.limits();
  return {{"affinity", or_null(l.affinity)},
          {"cpuset", or_null(l.cpuset)},
          {"quota_cpus", or_null(l.quota_cpus)},
          {"part_hidden", l.part_hidden},
          {"chosen_workers", m.workers.size()}};
}

json describe_group(const division& m, const locality_group& g) {
  const topology& t = m.machine;
  const auto cpus_of_core = [&](std::uint32_t c) { return t.cores()[c].cpus.to_string(); };
  const auto workers = m.workers.of_group(g.id);
  return {{"id", g.id.value},
          {"cpus", g.cpus.to_string()},
          {"cores", each(g.cores, cpus_of_core)},
          {"kind", t.kinds()[g.kind].name},
          {"capacity", g.capacity},
          {"package", g.package ? or_null(t.packages()[*g.package].id) : json(nullptr)},
          {"node", g.node ? json(t.nodes()[*g.node].os_index) : json(nullptr)},
          {"llc_level", or_null(g.llc_level)},
          {"workers", workers.size()},
          {"first_worker", workers.empty() ? json(nullptr) : json(workers.front().id.value)},
          {"worker_cpus", each(workers, [](const worker_place& w) { return w.cpu; })},
          {"steal_order", each(g.steal_order, [](group_id id) { return id.value; })}};
}

json describe_levels(const locality_groups& groups) {
  return each(groups.groups(), [&](const locality_group& from) {
    return each(groups.groups(), [&](const locality_group& to) {
      return static_cast<int>(groups.level_between(from.id, to.id));
    });
  });
}

} // namespace

std::string machine_json(const topology& t, const locality_groups& groups, const worker_layout& workers) {
  const division m{t, groups, workers};
  json all = json::object();
  all["source"] = t.source();
  all["cpus"] = t.cpus().to_string();
  all["packages"] = each(t.packages(), describe_package);
  all["numa_nodes"] = each(t.nodes(), describe_node);
  all["llcs"] = each(t.llcs(), describe_cache);
  all["cores"] = each(t.cores(), [](const core& c) { return c.cpus.to_string(); });
  all["kinds"] = each(t.kinds(), describe_kind);
  all["distances"] = describe_distances(t.distances());
  all["limits"] = describe_limits(m);
  all["groups"] = each(groups.groups(), [&](const locality_group& g) { return describe_group(m, g); });
  all["levels"] = describe_levels(groups);
  all["warnings"] = t.warnings();
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace corewise
