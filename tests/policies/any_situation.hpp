#pragma once

#include "made_machine.hpp"
#include "situation.hpp"

#include <rapidcheck.h>

#include <sstream>
#include <string>

// Machines, loads, origins and hints of all sorts, for properties that hold for all of them.

namespace corewise::tests {

/// Draws evenly, also in the first cases, which rapidcheck would make small.
inline std::uint32_t below(std::uint32_t n) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, n));
}
inline bool one_in(std::uint32_t n) { return below(n) == 0; }
inline std::optional<std::uint32_t> maybe_below(std::uint32_t n) {
  return one_in(8) ? std::nullopt : std::optional(below(n));
}

inline std::vector<std::uint32_t> any_capacities() {
  std::vector<std::uint32_t> capacities;
  for (std::uint32_t kinds = below(4); kinds > 0; --kinds)
    capacities.push_back(*rc::gen::elementOf(std::vector<std::uint32_t>{1, 256, 341, 512, 620, 1000, 1024}));
  capacities.push_back(full_capacity);
  std::ranges::sort(capacities);
  return capacities;
}

inline std::vector<std::vector<std::uint32_t>> any_distances(std::uint32_t nodes) {
  std::vector<std::vector<std::uint32_t>> rows(nodes);
  for (std::uint32_t from = 0; from < nodes; ++from)
    for (std::uint32_t to = 0; to < nodes; ++to) rows[from].push_back(from == to ? 10 : 11 + below(3) * 10);
  return rows;
}

/// The CPUs of a core, `threads` of them.
inline std::string cpus_of_core(std::uint32_t core, std::uint32_t threads) {
  return std::to_string(core * threads) + '-' + std::to_string(core * threads + threads - 1);
}

/// Packages of nodes of caches of cores, each in its place, as machines are built.
inline made_machine any_regular_machine() {
  made_machine made;
  made.capacities = any_capacities();
  const auto kinds = static_cast<std::uint32_t>(made.capacities.size());
  const std::uint32_t packages = 1 + below(3);
  const std::uint32_t nodes = packages * (1 + below(2));
  const std::uint32_t llcs = nodes * (1 + below(2));
  const std::uint32_t cores = llcs * (kinds + below(6));
  const std::uint32_t threads = 1 + below(2);
  for (std::uint32_t i = 0; i < cores; ++i) {
    const std::uint32_t llc = i * llcs / cores;
    made.cores.push_back(
        {cpus_of_core(i, threads), llc * packages / llcs, llc * nodes / llcs, llc, i % kinds});
  }
  if (one_in(2)) made.distances = any_distances(nodes);
  return made;
}

/// Any places at all, many of them unknown; kinds anywhere.
inline made_machine any_odd_machine() {
  made_machine made;
  made.capacities = any_capacities();
  const auto kinds = static_cast<std::uint32_t>(made.capacities.size());
  const std::uint32_t places = 1 + below(4);
  const std::uint32_t cores = kinds + below(24);
  const std::uint32_t threads = 1 + below(2);
  bool any_node = false;
  for (std::uint32_t i = 0; i < cores; ++i) {
    made.cores.push_back({cpus_of_core(i, threads), maybe_below(places), maybe_below(places),
                          maybe_below(places), i < kinds ? i : below(kinds)});
    any_node = any_node || made.cores.back().node.has_value();
  }
  if (any_node) made.distances = any_distances(places); // rows without a node are ignored
  return made;
}

inline worker_options any_workers() {
  worker_options options;
  if (one_in(4)) options.smt = smt_use::all;
  if (one_in(4)) options.per_group = 1 + below(9);
  if (one_in(4)) options.total = 1 + below(40);
  if (one_in(30)) options.total = 65 + below(200); // groups wider than a word of bits
  return options;
}

inline double any_spill() {
  return *rc::gen::elementOf(std::vector<double>{0, 0, 0.25, 0.5, 1, 1.5, 2, 2, 3, 4, 6, 16, 16, 40, 1e6});
}

inline dispatch_weights any_weights() {
  dispatch_weights weights;
  weights.score = static_cast<score_kind>(below(3));
  if (one_in(4)) weights.keep_below_ns = 0;
  if (!one_in(3)) weights.spill = {any_spill(), any_spill(), any_spill(), any_spill()};
  return weights;
}

/// Gives workers loads around `usual`, so that every way through the policy is taken: all idle, some idle,
/// none idle; some twice as loaded as others.
inline void any_loads(situation& s) {
  const std::uint32_t usual = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1, 2, 3, 5, 14, 20, 100});
  const std::uint32_t idle = *rc::gen::elementOf(std::vector<std::uint32_t>{1, 2, 10, 1000});
  const std::uint32_t blocked = *rc::gen::elementOf(std::vector<std::uint32_t>{1, 2, 8, 1000, 1000});
  for (const worker_place& w : s.workers().workers()) {
    s.boards().set_activity(w.id, {below(usual + 2), below(4)});
    if (one_in(8))
      s.boards().set_waiting_asleep(w.id, below(4));
    else if (one_in(8))
      s.boards().set_load(w.id, worker_load{usual, below(2), below(2)});
    else if (usual >= 14 && one_in(3))
      s.boards().set_load(w.id, 2 * usual + 2 - below(16));
    else
      s.boards().set_load(w.id, one_in(idle) ? 0 : usual + below(3));
    s.boards().set_unavailable(w.id, one_in(blocked));
  }
}

/// Draws a thread outside, on a CPU or at a home that was drawn.
inline task_origin any_outside(const situation& s) {
  const group_id home{below(static_cast<std::uint32_t>(s.groups().size()))};
  if (one_in(3)) return {home, std::nullopt};
  const std::vector<std::uint32_t> cpus = s.groups()[home].cpus.to_vector();
  return s.on_cpu(cpus[below(static_cast<std::uint32_t>(cpus.size()))]);
}

inline task_origin any_origin(const situation& s) {
  if (one_in(2)) return s.on_worker(below(static_cast<std::uint32_t>(s.workers().size())));
  return any_outside(s);
}

/// Draws a hint: often one that some worker fulfils, sometimes one that names what does not exist.
inline placement_hint any_hint(const situation& s) {
  const auto& wished = s.groups()[{below(static_cast<std::uint32_t>(s.groups().size()))}];
  placement_hint hint;
  if (one_in(4)) hint.group = one_in(5) ? group_id{below(90)} : wished.id;
  if (one_in(4)) hint.package = one_in(5) ? below(5) : wished.package;
  if (one_in(4)) hint.node = one_in(5) ? below(5) : wished.node;
  if (one_in(4)) hint.kind = one_in(5) ? below(5) : wished.kind;
  if (one_in(4)) hint.worker = worker_id{below(static_cast<std::uint32_t>(s.workers().size()) + 3)};
  if (one_in(4)) hint.run_as = static_cast<task_class>(below(3)); // neither concerns a policy
  if (one_in(4)) hint.address = &s;
  return hint;
}

inline std::string describe(const task_origin& o) {
  std::ostringstream text;
  text << "origin: group " << o.group.value;
  if (o.worker) text << ", worker " << o.worker->value;
  if (o.cpu) text << ", CPU " << *o.cpu;
  return text.str();
}

inline std::string describe(const placement_hint& h) {
  std::ostringstream text;
  const auto add = [&](const char* name, const auto& part) {
    if (part) text << ' ' << name << ' ' << *part;
  };
  const auto number = [](const auto& id) { return id ? std::optional(id->value) : std::nullopt; };
  add("group", number(h.group));
  add("package", h.package);
  add("node", h.node);
  add("worker", number(h.worker));
  add("kind", h.kind);
  return "hint:" + text.str();
}

inline std::string describe(const placement& p) {
  std::ostringstream text;
  text << "worker " << p.worker.value << " of group " << p.group.value << ", level "
       << static_cast<int>(p.level) << ", score " << p.score << ", cost " << p.cost << ", "
       << to_string(p.reason) << ", repeat " << p.repeat;
  return text.str();
}

} // namespace corewise::tests
