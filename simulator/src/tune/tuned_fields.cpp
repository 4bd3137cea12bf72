#include <corewise/simulator/tune.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace corewise {

namespace {

/// The facts of a machine that give fields a meaning.
struct machine_shape {
  std::array<bool, level_count> levels{}; ///< whether two groups are so far from each other
  std::size_t largest_domain = 0;         ///< its workers, or cores where they are not told apart
  bool unequal_kinds = false;
};

machine_shape shape_of(const profile& p, const topology& machine) {
  const locality_groups groups(machine, p.topology.groups);
  machine_shape shape;
  shape.unequal_kinds = machine.kinds().size() > 1;
  for (const auto& domain : groups.domains()) {
    std::size_t cores = 0;
    for (const group_id g : domain) cores += groups[g].cores.size();
    shape.largest_domain = std::max(shape.largest_domain, cores);
  }
  for (const locality_group& a : groups.groups())
    for (const locality_group& b : groups.groups())
      shape.levels[static_cast<std::size_t>(groups.level_between(a.id, b.id))] = true;
  return shape;
}

bool has(const machine_shape& shape, level l) { return shape.levels[static_cast<std::size_t>(l)]; }

tuned_field number(std::string key, double least, double most, double (*read)(const profile&),
                   void (*write)(profile&, double)) {
  return {.key = std::move(key), .choices = {}, .least = least, .most = most, .read = read, .write = write};
}

tuned_field whole_number(std::string key, double least, double most, double (*read)(const profile&),
                         void (*write)(profile&, double)) {
  tuned_field f = number(std::move(key), least, most, read, write);
  f.whole = true;
  return f;
}

#define COREWISE_NUMBER(member)                                                                              \
  [](const profile& p) { return static_cast<double>(p.member); },                                            \
      [](profile& p, double v) { p.member = static_cast<decltype(p.member)>(v); }

void add_score(std::vector<tuned_field>& fields) {
  fields.push_back(
      {.key = "dispatch.score",
       .choices = {static_cast<double>(score_kind::expected_delay),
                   static_cast<double>(score_kind::drain_time), static_cast<double>(score_kind::count)},
       .read = [](const profile& p) { return static_cast<double>(p.dispatch.weights.score); },
       .write = [](profile& p,
                   double v) { p.dispatch.weights.score = static_cast<score_kind>(static_cast<int>(v)); }});
}

void add_spill(std::vector<tuned_field>& fields, const machine_shape& shape) {
  if (shape.largest_domain > 1)
    fields.push_back(
        number("dispatch.spill.same_domain", 0.25, 32, COREWISE_NUMBER(dispatch.weights.spill.same_domain)));
  if (has(shape, level::same_node))
    fields.push_back(
        number("dispatch.spill.same_node", 0.5, 64, COREWISE_NUMBER(dispatch.weights.spill.same_node)));
  if (has(shape, level::same_package))
    fields.push_back(number("dispatch.spill.same_package", 0.5, 128,
                            COREWISE_NUMBER(dispatch.weights.spill.same_package)));
  if (has(shape, level::cross_package))
    fields.push_back(number("dispatch.spill.cross_package", 2, 256,
                            COREWISE_NUMBER(dispatch.weights.spill.cross_package)));
}

void add_thresholds(std::vector<tuned_field>& fields, const machine_shape& shape) {
  if (has(shape, level::same_node))
    fields.push_back(
        whole_number("steal.minimum_at.same_node", 1, 16, COREWISE_NUMBER(steal.minimum_at.same_node)));
  if (has(shape, level::same_package))
    fields.push_back(
        whole_number("steal.minimum_at.same_package", 1, 32, COREWISE_NUMBER(steal.minimum_at.same_package)));
  if (has(shape, level::cross_package))
    fields.push_back(whole_number("steal.minimum_at.cross_package", 1, 64,
                                  COREWISE_NUMBER(steal.minimum_at.cross_package)));
}

/// Adds the share of searchers. There is always at least one searcher, so smaller shares mean nothing.
void add_searchers(std::vector<tuned_field>& fields, const machine_shape& shape) {
  if (shape.largest_domain > 1)
    fields.push_back(
        whole_number("idle.searchers_per_mille",
                     std::max(1.0, std::floor(1000.0 / static_cast<double>(shape.largest_domain))), 1000,
                     COREWISE_NUMBER(idle.searchers_per_mille)));
}

#undef COREWISE_NUMBER

std::size_t groups_of(const topology& machine, const profile& p, std::uint32_t group_max) {
  grouping_options options = p.topology.groups;
  options.group_max = group_max;
  return locality_groups(machine, options).size();
}

/// Adds `group_max`, with only the sizes that divide the machine in different ways.
void add_group_max(std::vector<tuned_field>& fields, const profile& p, const topology& machine) {
  std::vector<std::size_t> divided{groups_of(machine, p, p.topology.groups.group_max)};
  std::vector<double> sizes{static_cast<double>(p.topology.groups.group_max)};
  for (const std::uint32_t size : {8U, 16U, 32U, 0U}) {
    const std::size_t groups = groups_of(machine, p, size);
    if (std::ranges::find(divided, groups) != divided.end()) continue;
    divided.push_back(groups);
    sizes.push_back(size);
  }
  if (sizes.size() == 1) return;
  fields.push_back(
      {.key = "topology.group_max",
       .choices = std::move(sizes),
       .read = [](const profile& q) { return static_cast<double>(q.topology.groups.group_max); },
       .write = [](profile& q, double v) { q.topology.groups.group_max = static_cast<std::uint32_t>(v); }});
}

/// Adjusts the searched costs so that distance never costs less than nearness.
void put_in_order(profile& p, std::span<const tuned_field> fields) {
  double nearer = 0;
  for (const tuned_field& f : fields) {
    if (!f.key.starts_with("dispatch.spill.")) continue;
    nearer = std::max(nearer, f.read(p));
    f.write(p, nearer);
  }
}

/// Adjusts the thresholds so that a task that was sent to another package is not stolen straight back.
void keep_what_was_sent(profile& p, std::span<const tuned_field> fields) {
  if (std::ranges::find(fields, "steal.minimum_at.cross_package", &tuned_field::key) == fields.end()) return;
  const double spill = p.dispatch.weights.spill.cross_package;
  if (p.dispatch.policy != "nearest_lightest" || spill < 2) return;
  std::uint32_t& minimum = p.steal.minimum_at.cross_package;
  minimum = std::min(minimum, static_cast<std::uint32_t>(std::min(spill / 2, 1e6)));
}

} // namespace

std::string tuned_field::text(double value) const {
  static constexpr std::array<const char*, 3> scores{"expected_delay", "drain_time", "count"};
  if (key == "dispatch.score") return scores.at(static_cast<std::size_t>(value));
  return fmt::format("{}", value);
}

std::vector<tuned_field> tuned_fields(const profile& p, const topology& machine) {
  const machine_shape shape = shape_of(p, machine);
  const bool weighs = p.dispatch.policy == "nearest_lightest";
  const bool steals = p.steal.policy != "none";
  std::vector<tuned_field> fields;
  add_group_max(fields, p, machine);
  if (weighs && shape.unequal_kinds) add_score(fields);
  if (weighs) add_spill(fields, shape);
  if (steals) add_thresholds(fields, shape);
  if (steals) add_searchers(fields, shape);
  for (tuned_field& f : fields) {
    if (!f.choices.empty()) continue;
    f.least = std::min(f.least, std::max(f.read(p), 0.01));
    f.most = std::max(f.most, f.read(p));
  }
  return fields;
}

profile with_values(const profile& p, std::span<const tuned_field> fields, std::span<const double> values) {
  profile made = p;
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].write(made, values[i]);
  put_in_order(made, fields);
  keep_what_was_sent(made, fields);
  return made;
}

profile defaults_beside(const profile& p) {
  profile d;
  d.topology.machine = p.topology.machine;
  d.topology.smt = p.topology.smt;
  d.workers = p.workers;
  return d;
}

} // namespace corewise
