#pragma once

#include "field_sorts.hpp"

#include <corewise/topology/discovery.hpp>

/// The common fields of a profile's `topology` and of a machine file.
namespace corewise::detail {

/// Makes a row of a source that is a text: `Source` has it as `member`.
template <class Target, class Source, class At, class Member>
field<Target> source_text_field(const std::string& path, At at, Member member) {
  return make_field<Target>(
      path, texts(4096),
      [at, member](Target& t, const element&, const setting& v) {
        Source source;
        source.*member = std::get<std::string>(v);
        at(t) = std::move(source);
      },
      [at, member](const Target& t, const auto& visit) {
        if (const auto* source = std::get_if<Source>(&at(t))) visit({}, std::string(source->*member));
      });
}

/// Makes the rows of `source`; `at` returns the `machine_source`.
template <class Target, class At> field_table<Target> source_fields(const std::string& prefix, At at) {
  field<Target> live = make_field<Target>(
      prefix + "source", one_of({"live"}),
      [at](Target& t, const element&, const setting&) { at(t) = live_source{}; },
      [at](const Target& t, const auto& visit) {
        if (std::holds_alternative<live_source>(at(t))) visit({}, "live");
      });
  live.facts.description = "The machine; `live` is the one on which the process runs";
  live.facts.note = "host limits (affinity, cpuset, CPU quota) apply to live and recorded machines only";

  auto xml = source_text_field<Target, xml_source>(prefix + "source.xml", at, &xml_source::file);
  xml.facts.description =
      "A file in hwloc's XML format; a relative path begins at the folder of the file that names it";
  xml.facts.form = "xml";

  auto synthetic =
      source_text_field<Target, synthetic_source>(prefix + "source.synthetic", at, &synthetic_source::text);
  synthetic.facts.description =
      "An hwloc synthetic description, such as `\"pack:2 numa:1 l3:4 core:8 pu:2\"`";
  synthetic.facts.form = "synthetic";
  return {live, xml, synthetic};
}

/// Makes a row of `kinds[]`; `read` returns a kind's value, `write` sets it.
template <class Target, class At, class Write, class Read>
field<Target> kind_field(const std::string& path, value_rule rule, At at, Write write, Read read) {
  return make_field<Target>(
      path, std::move(rule),
      [at, write](Target& t, const element& e, const setting& v) {
        write(item_at(at(t).kinds, e.indices.at(0)), v);
      },
      [at, read](const Target& t, const auto& visit) {
        for (std::size_t i = 0; i < at(t).kinds.size(); ++i)
          if (const std::optional<setting> v = read(at(t).kinds[i])) visit({{i}, {}}, *v);
      });
}

/// Makes the rows of `kinds[]`; `at` returns the object that has the member `kinds`.
template <class Target, class At> field_table<Target> kind_fields(const std::string& prefix, At at) {
  auto cpus = kind_field<Target>(
      prefix + "kinds[].cpus", cpu_lists(), at,
      [](kind_description& k, const setting& v) { k.cpus = *cpu_set::parse(std::get<std::string>(v)); },
      [](const kind_description& k) { return std::optional<setting>(k.cpus.to_string()); });
  cpus.facts.description =
      "The CPUs of a core kind that is described by hand, instead of the discovered kinds";
  cpus.facts.required = true;
  auto name = kind_field<Target>(
      prefix + "kinds[].name", texts(32), at,
      [](kind_description& k, const setting& v) { k.name = std::get<std::string>(v); },
      [](const kind_description& k) { return std::optional<setting>(k.name); });
  name.facts.description = "The name of the core kind, such as P, E, LP-E";
  name.facts.required = true;
  auto capacity = kind_field<Target>(
      prefix + "kinds[].capacity", integers(1, full_capacity), at,
      [](kind_description& k, const setting& v) {
        k.capacity = static_cast<std::uint32_t>(std::get<std::uint64_t>(v));
      },
      [](const kind_description& k) {
        return k.capacity ? std::optional<setting>(std::uint64_t{*k.capacity}) : std::nullopt;
      });
  capacity.facts.description = "The capacity of the core kind; the fastest kind has 1024";
  capacity.facts.default_text = "as discovered";
  for (field<Target>* f : {&cpus, &name}) f->facts.default_text = "kinds as discovered";
  return {cpus, name, capacity};
}

/// Makes the row of `distances`; `at` returns the object that has the member `distances`.
template <class Target, class At> field<Target> distance_field(const std::string& prefix, At at) {
  field<Target> f = make_field<Target>(
      prefix + "distances[][]", integers(10, 255),
      [at](Target& t, const element& e, const setting& v) {
        item_at(item_at(at(t).distances, e.indices.at(0)), e.indices.at(1)) =
            static_cast<std::uint32_t>(std::get<std::uint64_t>(v));
      },
      [at](const Target& t, const auto& visit) {
        for (std::size_t i = 0; i < at(t).distances.size(); ++i)
          for (std::size_t j = 0; j < at(t).distances[i].size(); ++j)
            visit({{i, j}, {}}, std::uint64_t{at(t).distances[i][j]});
      });
  f.facts.description = "The distances between NUMA nodes, instead of the discovered ones: a row for each "
                        "node, with its distance to each node, by ascending number";
  f.facts.unit = "SLIT";
  f.facts.default_text = "as discovered";
  return f;
}

} // namespace corewise::detail
