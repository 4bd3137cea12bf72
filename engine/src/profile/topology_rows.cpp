#include "profile_rows.hpp"

#include <algorithm>
#include <iterator>

namespace corewise::detail {

namespace {

row use_cpus() {
  return make_field<profile>(
      "topology.use.cpus", cpu_lists(),
      [](profile& p, const element&, const setting& v) {
        p.topology.machine.use.cpus = cpu_set::parse(std::get<std::string>(v));
      },
      [](const profile& p, const auto& visit) {
        if (const auto& cpus = p.topology.machine.use.cpus) visit({}, cpus->to_string());
      });
}

row use_reserve() {
  return make_field<profile>(
      "topology.use.reserve", cpu_lists(),
      [](profile& p, const element&, const setting& v) {
        p.topology.machine.use.reserve = *cpu_set::parse(std::get<std::string>(v));
      },
      [](const profile& p, const auto& visit) { visit({}, p.topology.machine.use.reserve.to_string()); });
}

rows selection() {
  return {
      with(list_field<profile>("topology.use.packages[]", COREWISE_AT(topology.machine.use.packages),
                               integers(0, 65535)),
           restart, {.description = "Packages (sockets) to use, by number", .default_text = "all"}),
      with(list_field<profile>("topology.use.numa[]", COREWISE_AT(topology.machine.use.nodes),
                               integers(0, 65535)),
           restart, {.description = "NUMA nodes whose CPUs are used, by number", .default_text = "all"}),
      with(list_field<profile>("topology.use.kinds[]", COREWISE_AT(topology.machine.use.kinds), texts(32)),
           restart, {.description = "Core kinds to use, by name", .default_text = "all"}),
      with(use_cpus(), restart,
           {.description = "CPUs to use. Those that are absent, offline or not allowed are left out, with a "
                           "warning; with `strict` they are an error",
            .default_text = "all"}),
      with(use_reserve(), restart, {.description = "CPUs that are left to others; they need not be there"}),
  };
}

rows grouping() {
  return {
      with(choice_field<profile, domain_kind>("topology.group_by", COREWISE_AT(topology.groups.group_by),
                                              {{"core", domain_kind::core},
                                               {"llc", domain_kind::llc},
                                               {"numa", domain_kind::numa},
                                               {"package", domain_kind::package},
                                               {"machine", domain_kind::machine}}),
           restart,
           {.description = "The part of the machine that forms a locality domain; a domain always lies "
                           "within one NUMA node and one package"}),
      with(integer_field<profile>("topology.group_max", COREWISE_AT(topology.groups.group_max),
                                  integers(0, 65536)),
           restart,
           {.unit = "cores",
            .description = "The most cores in a locality group; a larger domain is cut evenly into groups. "
                           "0: no domain is cut"}),
      with(choice_field<profile, smt_use>("topology.smt", COREWISE_AT(topology.smt),
                                          {{"one_per_core", smt_use::one_per_core}, {"all", smt_use::all}}),
           restart, {.description = "The hardware threads of a core that get a worker"}),
  };
}

row follow() {
  using mode = follow_setting::mode;
  return mode_field<profile, mode>("topology.follow", COREWISE_AT(topology.follow),
                                   durations(std::chrono::milliseconds{10}, std::chrono::hours{1}),
                                   {{"auto", mode::automatic}, {"off", mode::off}});
}

rows following() {
  return {
      with(follow(), live,
           {.description =
                "How often, while tasks run, the engine looks at what the host allows it: CPU quota, "
                "cpuset, affinity mask, CPUs online, the speed that its cores may have, the memory nodes. "
                "Workers retire at once when that is less, and come back, as far as `workers.headroom` goes, "
                "when looks have seen more for 2 s. `auto`: "
                "every second, of engines that share the machine every half; `off`: only when the program "
                "says so, by `engine::refresh`"}),
      with(flag_field<profile>("topology.hfi", COREWISE_AT(topology.hfi)), restart,
           {.description =
                "Follow what the hardware says of the speed that each core can have now, as heat and power "
                "allow: Intel's thread director, by events of the kernel (Linux 5.18 or later). To "
                "subscribe may switch it on, so it is asked for"}),
      with(flag_field<profile>("topology.measure", COREWISE_AT(topology.measure)), restart,
           {.description = "Correct the capacities of cores by how long tasks of one kind take on each, for "
                           "machines that tell "
                           "them wrongly, such as virtual ones. Of one task in 64 the time is taken; the "
                           "engine corrects slowly, "
                           "when it looks at the host (`topology.follow`)"}),
  };
}

row capacity_auto() {
  return make_field<profile>(
      "topology.capacity", one_of({"auto"}),
      [](profile& p, const element&, const setting&) { p.topology.machine.capacities.clear(); },
      [](const profile& p, const auto& visit) {
        if (p.topology.machine.capacities.empty()) visit({}, "auto");
      });
}

row capacity_of_kind() {
  return make_field<profile>(
      "topology.capacity.*", integers(1, full_capacity),
      [](profile& p, const element& e, const setting& v) {
        p.topology.machine.capacities[e.names.at(0)] = static_cast<std::uint32_t>(std::get<std::uint64_t>(v));
      },
      [](const profile& p, const auto& visit) {
        for (const auto& [name, capacity] : p.topology.machine.capacities)
          visit({{}, {name}}, std::uint64_t{capacity});
      });
}

rows capacities() {
  return {
      with(capacity_auto(), restart,
           {.description = "The speed of each core kind; `auto` takes it from the machine"}),
      with(capacity_of_kind(), restart,
           {.description = "The capacity of the core kind with this name; the fastest kind has 1024",
            .default_text = "as discovered"}),
  };
}

} // namespace

rows topology_rows() {
  rows table;
  for (rows section : {selection(), grouping(), following(), capacities()})
    std::ranges::move(section, std::back_inserter(table));
  return table;
}

} // namespace corewise::detail
