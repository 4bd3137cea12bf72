// Properties of all sets of CPUs, tried on random sets against std::set.

#include <corewise/topology/cpu_set.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

using corewise::cpu_set;

namespace {

using numbers = std::set<std::uint32_t>;

cpu_set made_of(const numbers& cpus) {
  cpu_set set;
  for (const auto cpu : cpus) set.insert(cpu);
  return set;
}

numbers read(const cpu_set& set) {
  const auto cpus = set.to_vector();
  return {cpus.begin(), cpus.end()};
}

numbers some_numbers() {
  const auto limit = *rc::gen::element(8U, 64U, 65U, 200U, 1024U, cpu_set::largest + 1);
  return *rc::gen::container<numbers>(rc::gen::inRange(0U, limit));
}

bool all_hold = true;

template <class Property> void property(const std::string& sentence, Property holds) {
  all_hold = rc::check(sentence, holds) && all_hold;
}

} // namespace

int main() {
  property("a set holds what was inserted, in ascending order", [] {
    const auto cpus = some_numbers();
    const auto set = made_of(cpus);
    const auto listed = set.to_vector();
    RC_ASSERT(std::vector<std::uint32_t>(cpus.begin(), cpus.end()) == listed);
    RC_ASSERT(set.size() == cpus.size());
    RC_ASSERT(set.empty() == cpus.empty());
    if (!cpus.empty()) RC_ASSERT(set.first() == *cpus.begin());
  });
  property("a printed set reads as the same set", [] {
    const auto set = made_of(some_numbers());
    RC_ASSERT(cpu_set::parse(set.to_string()) == set);
  });
  property("union, intersection and difference are those of std::set", [] {
    const auto a = some_numbers();
    const auto b = some_numbers();
    numbers both;
    numbers either;
    numbers rest;
    std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
    std::ranges::set_union(a, b, std::inserter(either, either.end()));
    std::ranges::set_difference(a, b, std::inserter(rest, rest.end()));
    const auto left = made_of(a);
    const auto right = made_of(b);
    RC_ASSERT(read(left & right) == both);
    RC_ASSERT(read(left | right) == either);
    RC_ASSERT(read(left - right) == rest);
    RC_ASSERT(left.intersects(right) == !both.empty());
    RC_ASSERT(left.is_subset_of(right) == rest.empty());
  });
  property("equal contents are equal sets, however they came about", [] {
    const auto cpus = some_numbers();
    const auto more = some_numbers();
    auto set = made_of(cpus);
    for (const auto cpu : more) set.insert(cpu);
    for (const auto cpu : more)
      if (!cpus.contains(cpu)) set.erase(cpu);
    RC_ASSERT(set == made_of(cpus));
    RC_ASSERT(((made_of(cpus) | made_of(more)) - made_of(more)) == (made_of(cpus) - made_of(more)));
  });
  property("any text is read or refused, and what is read prints as what reads the same", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789,-:/ \nx")));
    if (const auto set = cpu_set::parse(text)) RC_ASSERT(cpu_set::parse(set->to_string()) == *set);
  });
  std::cout << (all_hold ? "all properties hold\n" : "a property fails\n");
  return all_hold ? 0 : 1;
}
