#include "agent_check.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using admin::agent_check;

namespace {

load_report with(double utilization, double effective = 4) {
  load_report r;
  r.capacity = 4;
  r.effective_capacity = effective;
  r.utilization = utilization;
  return r;
}

int percent(const std::string& line) {
  REQUIRE(line.rfind("ready up ", 0) == 0);
  REQUIRE(line.substr(line.size() - 2) == "%\n");
  return std::atoi(line.c_str() + 9);
}

const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

} // namespace

TEST_CASE("agent check: the free share falls with the load and with the capacity, and never to 0") {
  CHECK(free_share(with(0)) == doctest::Approx(1));
  CHECK(free_share(with(.5)) == doctest::Approx(.55));
  CHECK(free_share(with(1)) == doctest::Approx(.1));
  CHECK(free_share(with(2)) == doctest::Approx(.05)); // requests wait for a place
  CHECK(free_share(with(0, 2)) == doctest::Approx(.5));
  CHECK(free_share(with(.5, 2)) == doctest::Approx(.275));
  CHECK(free_share(with(1000)) > 0);
  CHECK(free_share(with(0, 0)) > 0);
  CHECK(free_share(load_report()) > 0); // the child of a process fork
  load_report wedged = with(0);
  wedged.state = health_state::wedged;
  CHECK(free_share(wedged) < .01);
}

TEST_CASE(
    "agent check: the first line is the share at once, the next ones follow it smoothly, as often as asked") {
  agent_check once;
  agent_check often;
  CHECK(percent(once.line(with(.5), begin)) == 55);
  CHECK(percent(often.line(with(.5), begin)) == 55);
  CHECK(percent(once.line(with(1), begin + 3s)) == 27); // 10 + 45 / e
  for (auto passed = 100ms; passed < 3s; passed += 100ms) {
    const int now = percent(often.line(with(1), begin + passed));
    CHECK(now >= 27);
    CHECK(now < 55);
  }
  CHECK(percent(often.line(with(1), begin + 3s)) == 27);
  CHECK(percent(often.line(with(1e9), begin + 1h)) == 1);
  CHECK(percent(often.line(with(0), begin + 2h)) == 100);
}

TEST_CASE("agent check: servers behind weights that follow it settle, at .8 of what they can do") {
  // Two servers, one of them half as fast. A balancer deals out .8 × 1.5 by their weights, once a second.
  const double speeds[] = {1, .5};
  double rates[] = {.6, .6};
  agent_check agents[2];
  std::vector<double> slow;
  for (int second = 0; second < 60; ++second) {
    double weights[2];
    for (int i = 0; i < 2; ++i)
      weights[i] = percent(agents[i].line(with(rates[i] / speeds[i]), begin + std::chrono::seconds{second}));
    for (int i = 0; i < 2; ++i) rates[i] = 1.2 * weights[i] / (weights[0] + weights[1]);
    slow.push_back(rates[1] / speeds[1]);
  }
  for (auto load = slow.end() - 20; load != slow.end(); ++load) {
    CHECK(*load > .8);
    CHECK(*load < .97);
  }
}

TEST_CASE("agent check: a server that drains or has ended says drain, and nothing else") {
  agent_check agent;
  load_report r = with(.5);
  r.draining = true;
  CHECK(agent.line(r, begin) == "drain\n");
  r.draining = false;
  r.state = health_state::ended;
  CHECK(agent.line(r, begin) == "drain\n");
  for (const health_state running : {health_state::degraded, health_state::wedged, health_state::ok}) {
    r.state = running;
    CHECK(percent(agent.line(r, begin)) >= 1);
  }
}
