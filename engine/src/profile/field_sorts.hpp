#pragma once

#include "duration_text.hpp"
#include "field.hpp"

#include <optional>
#include <type_traits>
#include <utility>

/// The sorts of fields of which tables are made. `at` is always a function from the struct to a reference to
/// the member, generic so that it serves to write and to read.
namespace corewise::detail {

template <class Target, class Rule, class Set, class Show>
field<Target> make_field(std::string path, Rule rule, Set set, Show show) {
  field<Target> f;
  f.facts.path = std::move(path);
  f.facts.rule = std::move(rule);
  f.set = std::move(set);
  f.show = std::move(show);
  return f;
}

inline value_rule integers(std::uint64_t min, std::uint64_t max, std::vector<std::string> words = {}) {
  return {value_rule::sort::integer, std::move(words), min, max, false};
}
inline value_rule powers_of_two(std::uint64_t min, std::uint64_t max, std::vector<std::string> words = {}) {
  return {value_rule::sort::integer, std::move(words), min, max, true};
}
inline value_rule numbers(std::uint64_t min, std::uint64_t max) {
  return {value_rule::sort::number, {}, min, max, false};
}
inline value_rule texts(std::uint64_t max) { return {value_rule::sort::text, {}, 1, max, false}; }
inline value_rule cpu_lists() { return {value_rule::sort::cpu_list, {}, 0, 0, false}; }
inline value_rule one_of(std::vector<std::string> words) {
  return {value_rule::sort::word, std::move(words), 0, 0, false};
}
inline value_rule flags() { return {value_rule::sort::flag, {"true", "false"}, 0, 0, false}; }
inline value_rule durations(std::chrono::nanoseconds min, std::chrono::nanoseconds max,
                            std::vector<std::string> words = {}) {
  return {value_rule::sort::duration, std::move(words), static_cast<std::uint64_t>(min.count()),
          static_cast<std::uint64_t>(max.count()), false};
}

/// Makes the field of a whole number in an unsigned member.
template <class Target, class At> field<Target> integer_field(std::string path, At at, value_rule rule) {
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) {
        auto& member = at(t);
        member = static_cast<std::remove_reference_t<decltype(member)>>(std::get<std::uint64_t>(v));
      },
      [at](const Target& t, const auto& visit) { visit({}, std::uint64_t{at(t)}); });
}

/// Makes the field of a whole number in an `optional` member, which is empty for the rule's word.
template <class Target, class At>
field<Target> optional_integer_field(std::string path, At at, value_rule rule) {
  const std::string word = rule.words.at(0);
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) {
        at(t).reset();
        if (const auto* n = std::get_if<std::uint64_t>(&v)) at(t) = static_cast<std::uint32_t>(*n);
      },
      [at, word](const Target& t, const auto& visit) {
        visit({}, at(t) ? setting(std::uint64_t{*at(t)}) : setting(word));
      });
}

template <class Target, class At> field<Target> number_field(std::string path, At at, value_rule rule) {
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) { at(t) = std::get<double>(v); },
      [at](const Target& t, const auto& visit) { visit({}, at(t)); });
}

template <class Target, class At> field<Target> duration_field(std::string path, At at, value_rule rule) {
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) { at(t) = std::get<std::chrono::nanoseconds>(v); },
      [at](const Target& t, const auto& visit) { visit({}, at(t)); });
}

/// Makes the field of a duration in an `optional` member, which is empty for "never".
template <class Target, class At>
field<Target> optional_duration_field(std::string path, At at, value_rule rule) {
  rule.words = {"never"};
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) {
        at(t).reset();
        if (const auto* d = std::get_if<std::chrono::nanoseconds>(&v)) at(t) = *d;
      },
      [at](const Target& t, const auto& visit) { visit({}, at(t) ? setting(*at(t)) : setting("never")); });
}

/// Makes the field of a member with a `kind`, which has a word for each value but `fixed`, and a time `fixed`. The first
/// word is the default.
template <class Target, class Mode, class At>
field<Target> mode_field(std::string path, At at, value_rule rule,
                         std::vector<std::pair<std::string, Mode>> words) {
  for (const auto& [word, kind] : words) rule.words.push_back(word);
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at, words](Target& t, const element&, const setting& v) {
        at(t) = {};
        if (const auto* d = std::get_if<std::chrono::nanoseconds>(&v)) at(t) = {Mode::fixed, *d};
        for (const auto& [word, kind] : words)
          if (const auto* said = std::get_if<std::string>(&v); said != nullptr && *said == word)
            at(t).kind = kind;
      },
      [at, words](const Target& t, const auto& visit) {
        for (const auto& [word, kind] : words)
          if (at(t).kind == kind) return visit({}, word);
        visit({}, at(t).fixed);
      });
}

/// Makes the field of a text or a word in a `std::string` member.
template <class Target, class At> field<Target> text_field(std::string path, At at, value_rule rule) {
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element&, const setting& v) { at(t) = std::get<std::string>(v); },
      [at](const Target& t, const auto& visit) { visit({}, at(t)); });
}

template <class Target, class At> field<Target> flag_field(std::string path, At at) {
  return make_field<Target>(
      std::move(path), flags(),
      [at](Target& t, const element&, const setting& v) { at(t) = std::get<std::string>(v) == "true"; },
      [at](const Target& t, const auto& visit) { visit({}, at(t) ? "true" : "false"); });
}

/// The words for the values of an enumeration.
template <class Enum> using word_list = std::vector<std::pair<std::string, Enum>>;

template <class Target, class Enum, class At>
field<Target> choice_field(std::string path, At at, word_list<Enum> words) {
  std::vector<std::string> names;
  for (const auto& [word, value] : words) names.push_back(word);
  return make_field<Target>(
      std::move(path), one_of(std::move(names)),
      [at, words](Target& t, const element&, const setting& v) {
        for (const auto& [word, value] : words)
          if (word == std::get<std::string>(v)) at(t) = value;
      },
      [at, words](const Target& t, const auto& visit) {
        for (const auto& [word, value] : words)
          if (value == at(t)) return visit({}, word);
        visit({}, std::uint64_t{static_cast<std::uint8_t>(at(t))}); // no value of the enumeration
      });
}

/// Makes room for `index`, and returns the item there.
template <class Item> Item& item_at(std::vector<Item>& list, std::size_t index) {
  if (list.size() <= index) list.resize(index + 1);
  return list[index];
}

/// Makes the field of a vector's items, numbers or texts; `path` ends in "[]".
template <class Target, class At> field<Target> list_field(std::string path, At at, value_rule rule) {
  return make_field<Target>(
      std::move(path), std::move(rule),
      [at](Target& t, const element& e, const setting& v) {
        auto& item = item_at(at(t), e.indices.at(0));
        if constexpr (std::is_integral_v<std::remove_reference_t<decltype(item)>>)
          item = static_cast<std::uint32_t>(std::get<std::uint64_t>(v));
        else
          item = std::get<std::string>(v);
      },
      [at](const Target& t, const auto& visit) {
        for (std::size_t i = 0; i < at(t).size(); ++i) {
          if constexpr (std::is_integral_v<typename std::remove_cvref_t<decltype(at(t))>::value_type>)
            visit({{i}, {}}, std::uint64_t{at(t)[i]});
          else
            visit({{i}, {}}, at(t)[i]);
        }
      });
}

} // namespace corewise::detail
