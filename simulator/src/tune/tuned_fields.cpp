#include <corewise/simulator/tune.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

namespace corewise {

namespace {

/// The facts of a machine that give fields a meaning.
struct machine_shape {
  std::vector<domain_kind> divided_by;    ///< the ways to divide it into domains; the first is the profile's
  std::array<bool, level_count> levels{}; ///< whether two groups are so far from each other, in one of them
  std::size_t largest_domain = 0;         ///< its workers, or cores where they are not told apart
  bool unequal_kinds = false;
};

locality_groups divided(const topology& machine, domain_kind by, std::uint32_t group_max) {
  return {machine, {.group_by = by, .group_max = group_max}};
}

/// Returns the ways to divide the machine into domains: the profile's, and those that make other domains.
std::vector<domain_kind> ways_to_divide(const profile& p, const topology& machine) {
  std::vector<domain_kind> ways{p.topology.groups.group_by};
  if (p.workers.per_group) return ways;
  std::vector<std::size_t> domains{divided(machine, ways.front(), 0).domains().size()};
  for (const domain_kind by : {domain_kind::llc, domain_kind::numa, domain_kind::package}) {
    const std::size_t count = divided(machine, by, 0).domains().size();
    if (std::ranges::find(domains, count) != domains.end()) continue;
    domains.push_back(count);
    ways.push_back(by);
  }
  return ways;
}

void add_shape(machine_shape& shape, const locality_groups& groups) {
  for (const auto& domain : groups.domains()) {
    std::size_t cores = 0;
    for (const group_id g : domain) cores += groups[g].cores.size();
    shape.largest_domain = std::max(shape.largest_domain, cores);
  }
  for (const locality_group& a : groups.groups())
    for (const locality_group& b : groups.groups())
      shape.levels[static_cast<std::size_t>(groups.level_between(a.id, b.id))] = true;
}

machine_shape shape_of(const profile& p, const topology& machine) {
  machine_shape shape;
  shape.divided_by = ways_to_divide(p, machine);
  shape.unequal_kinds = machine.kinds().size() > 1;
  for (const domain_kind by : shape.divided_by)
    add_shape(shape, divided(machine, by, p.topology.groups.group_max));
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

std::string score_name(double value) {
  static constexpr std::array<const char*, 3> names{"expected_delay", "drain_time", "count"};
  return names.at(static_cast<std::size_t>(value));
}

std::string smt_name(double value) {
  return static_cast<smt_use>(static_cast<int>(value)) == smt_use::all ? "all" : "one_per_core";
}

std::string domain_name(double value) {
  static constexpr std::array<const char*, 5> names{"core", "llc", "numa", "package", "machine"};
  return names.at(static_cast<std::size_t>(value));
}

constexpr double never = std::numeric_limits<double>::infinity();

/// Writes a time in ns as profiles have it.
std::string time_name(double ns) {
  if (ns == never) return "never";
  const auto whole = static_cast<std::int64_t>(ns);
  if (whole % 1'000'000 == 0 && whole != 0) return fmt::format("{}ms", whole / 1'000'000);
  return whole % 1'000 == 0 ? fmt::format("{}us", whole / 1'000) : fmt::format("{}ns", whole);
}

tuned_field choice(std::string key, std::vector<double> choices, double (*read)(const profile&),
                   void (*write)(profile&, double), std::string (*name)(double) = nullptr) {
  return {.key = std::move(key), .choices = std::move(choices), .read = read, .write = write, .name = name};
}

#define COREWISE_TIME(member)                                                                                \
  [](const profile& p) { return static_cast<double>(p.member.count()); },                                    \
      [](profile& p, double v) { p.member = std::chrono::nanoseconds(static_cast<std::int64_t>(v)); }

constexpr double us = 1e3;
constexpr double ms = 1e6;

void add_score(std::vector<tuned_field>& fields) {
  fields.push_back(
      {.key = "dispatch.score",
       .choices = {static_cast<double>(score_kind::expected_delay),
                   static_cast<double>(score_kind::drain_time), static_cast<double>(score_kind::count)},
       .read = [](const profile& p) { return static_cast<double>(p.dispatch.weights.score); },
       .write = [](profile& p,
                   double v) { p.dispatch.weights.score = static_cast<score_kind>(static_cast<int>(v)); },
       .name = score_name});
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

void add_batch_max(std::vector<tuned_field>& fields) {
  fields.push_back(choice("steal.batch_max", {8, 32, 128}, COREWISE_NUMBER(steal.batch_max)));
}

void add_queues(std::vector<tuned_field>& fields, bool takes_from_others) {
  fields.push_back(choice("queues.budget", {32, 128, 512}, COREWISE_NUMBER(queues.budget)));
  if (takes_from_others)
    fields.push_back(choice(
        "queues.oldest_first", {5 * us, 50 * us, never},
        [](const profile& p) {
          const optional_duration& from = p.queues.oldest_first;
          return from ? static_cast<double>(from->count()) : never;
        },
        [](profile& p, double v) {
          p.queues.oldest_first.reset();
          if (v != never) p.queues.oldest_first = std::chrono::nanoseconds(static_cast<std::int64_t>(v));
        },
        time_name));
  fields.push_back(choice("injection.target_latency", {200 * us, 1 * ms, 10 * ms},
                          COREWISE_TIME(injection.target_latency), time_name));
}

void add_spin(std::vector<tuned_field>& fields) {
  fields.push_back(
      choice("idle.spin", {0, 5 * us, 20 * us, 100 * us, 500 * us}, COREWISE_TIME(idle.spin), time_name));
}

#undef COREWISE_NUMBER
#undef COREWISE_TIME

void add_group_by(std::vector<tuned_field>& fields, const machine_shape& shape) {
  if (shape.divided_by.size() == 1) return;
  std::vector<double> ways;
  for (const domain_kind by : shape.divided_by) ways.push_back(static_cast<double>(by));
  fields.push_back(choice(
      "topology.group_by", std::move(ways),
      [](const profile& p) { return static_cast<double>(p.topology.groups.group_by); },
      [](profile& p, double v) {
        p.topology.groups.group_by = static_cast<domain_kind>(static_cast<int>(v));
      },
      domain_name));
}

/// Adds `group_max`, with only the sizes that divide the machine, or one of its domains, in different ways.
void add_group_max(std::vector<tuned_field>& fields, const profile& p, const topology& machine,
                   const machine_shape& shape) {
  if (p.workers.per_group) return;
  const auto groups = [&](std::uint32_t size) {
    std::vector<std::size_t> counts;
    for (const domain_kind by : shape.divided_by) counts.push_back(divided(machine, by, size).size());
    return counts;
  };
  std::vector<std::vector<std::size_t>> known{groups(p.topology.groups.group_max)};
  std::vector<double> sizes{static_cast<double>(p.topology.groups.group_max)};
  for (const std::uint32_t size : {8U, 16U, 32U, 0U}) {
    std::vector<std::size_t> counts = groups(size);
    if (std::ranges::find(known, counts) != known.end()) continue;
    known.push_back(std::move(counts));
    sizes.push_back(size);
  }
  if (sizes.size() == 1) return;
  fields.push_back(choice(
      "topology.group_max", std::move(sizes),
      [](const profile& q) { return static_cast<double>(q.topology.groups.group_max); },
      [](profile& q, double v) { q.topology.groups.group_max = static_cast<std::uint32_t>(v); }));
}

/// Adds the use of second hardware threads, where cores have some and the number of workers follows from them.
void add_smt(std::vector<tuned_field>& fields, const profile& p, const topology& machine) {
  if (p.workers.per_group || p.workers.total || machine.cpus().size() == machine.cores().size()) return;
  fields.push_back(choice(
      "topology.smt", {static_cast<double>(smt_use::one_per_core), static_cast<double>(smt_use::all)},
      [](const profile& q) { return static_cast<double>(q.topology.smt); },
      [](profile& q, double v) { q.topology.smt = static_cast<smt_use>(static_cast<int>(v)); }, smt_name));
}

/// Makes the bounds and choices hold the value of the profile.
void include_value(tuned_field& f, double value) {
  if (f.choices.empty()) {
    f.least = std::min(f.least, std::max(value, 0.01));
    f.most = std::max(f.most, value);
  } else if (std::ranges::find(f.choices, value) == f.choices.end()) {
    f.choices.push_back(value);
  }
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
  return name != nullptr ? name(value) : fmt::format("{}", value);
}

std::vector<tuned_field> tuned_fields(const profile& p, const topology& machine) {
  const machine_shape shape = shape_of(p, machine);
  const bool weighs = p.dispatch.policy == "nearest_lightest";
  const bool steals = p.steal.policy != "none" && machine.cores().size() > 1;
  std::vector<tuned_field> fields;
  add_group_by(fields, shape);
  add_group_max(fields, p, machine, shape);
  add_smt(fields, p, machine);
  if (weighs && shape.unequal_kinds) add_score(fields);
  if (weighs) add_spill(fields, shape);
  if (steals) add_batch_max(fields);
  if (steals) add_thresholds(fields, shape);
  add_queues(fields, steals);
  if (steals) add_searchers(fields, shape);
  add_spin(fields);
  for (tuned_field& f : fields) include_value(f, f.read(p));
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
