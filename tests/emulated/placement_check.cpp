// Checks, on the machine that it runs on, that discovery finds the machine as it was configured, and that
// workers and their memory are where the profile says.
#include "checks.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <utility>

namespace corewise::emulated {

namespace {

profile pinned_to(pin_to place) {
  profile p;
  p.workers.pin = place;
  p.blocking.stuck_after.reset(); // the checks hold workers for a while
  p.topology.smt = smt_use::all;
  return p;
}

void check_all_pinnings(verdict& v) {
  constexpr std::pair<pin_to, const char*> places[] = {{pin_to::automatic, "pin: auto"},
                                                       {pin_to::core, "pin: core"},
                                                       {pin_to::group, "pin: group"},
                                                       {pin_to::node, "pin: node"},
                                                       {pin_to::none, "pin: none"}};
  for (const auto& [place, title] : places) check_pinning(pinned_to(place), title, v);
}

/// An engine that an operator gave one node of several.
void check_last_node_only(verdict& v) {
  profile p = pinned_to(pin_to::core);
  const topology machine = discover({});
  for (const numa_node& n : machine.nodes())
    if (!n.home_cpus.empty()) p.topology.machine.use.nodes = {n.os_index};
  check_pinning(p, "the last node only", v);
  check_memory(p, v);
}

int run(const char* expected) {
  std::ifstream file(expected);
  if (!file) throw std::runtime_error(std::string("cannot read ") + expected);
  verdict v;
  check_discovery(read_expectation(file), v);
  check_all_pinnings(v);
  check_memory(pinned_to(pin_to::automatic), v);
  check_data(pinned_to(pin_to::automatic), v);
  check_last_node_only(v);
  std::cout << v.passed() << " passed, " << v.failed() << " failed\n";
  return v.failed() == 0 && v.passed() > 0 ? 0 : 1;
}

} // namespace

} // namespace corewise::emulated

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: placement_check EXPECTATION\n";
    return 2;
  }
  try {
    return corewise::emulated::run(argv[1]);
  } catch (const std::exception& e) {
    std::cout << "FAILED " << e.what() << '\n';
    return 1;
  }
}
