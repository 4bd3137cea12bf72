#include "served_engine.hpp"
#include "within.hpp"

#include <doctest/doctest.h>
#include <sys/types.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

// `corewise top` beside an engine in this process.

using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("top: a running engine is watched, recorded, and its stuck tasks are named") {
  served d;
  for (int i = 0; i < 1000; ++i) CHECK(d.engine.submit([] {}) == corewise::submit_result::accepted);
  d.engine.drain();
  d.stand("the <long> task");
  const outcome seen = d.control("top --interval 100ms --count 2 --record seen.jsonl");
  CHECK(seen.status == 0);
  CHECK(seen.err.empty());
  CHECK(contains(seen.out, "corewise c.sock  "));
  CHECK(contains(seen.out,
                 "since the engine began\nhealth   degraded  1 of 2 workers run tasks that do not end"));
  CHECK(contains(seen.out, "tasks    finished 1000  in flight 1 "));
  CHECK(contains(seen.out, "\n\ncorewise c.sock  "));
  CHECK(contains(seen.out, "tasks    finished 0/s  in flight 1 "));
  CHECK(contains(seen.out, "\nstuck    worker "));
  CHECK(contains(seen.out, "  the <long> task\n"));
  const outcome again =
      d.shell.run("corewise top --replay seen.jsonl | sed 's/seen.jsonl (recorded)/c.sock/'");
  CHECK(again.out == seen.out);
  CHECK(contains(d.control("top --once --record seen.jsonl").err, "seen.jsonl: File exists"));

  const outcome outside = d.read("top --once");
  CHECK(outside.status == 0);
  CHECK(contains(outside.out, "stuck    1 worker  the control socket has the names of the tasks\n"));
  CHECK(!contains(outside.out, "the <long> task"));
}

TEST_CASE("top: readings that were missed are not made up for in a burst") {
  served d;
  const outcome seen =
      d.shell.run("corewise top --connect c.sock --interval 100ms --count 20 --record r >seen & "
                  "until [ -s r ]; do sleep .01; done; "
                  "kill -STOP $!; sleep 1; kill -CONT $!; wait $! && jq .at_seconds r");
  REQUIRE_MESSAGE(seen.status == 0, seen.err);
  std::vector<double> at;
  std::istringstream lines(seen.out);
  for (double seconds = 0; lines >> seconds;) at.push_back(seconds);
  REQUIRE(at.size() == 20);
  // A late reading may be near the next one, but not nearer to the one after that than an interval, and so on.
  int too_near = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t later = i + 2; later < at.size(); ++later)
      too_near += at[later] - at[i] < .1 * static_cast<double>(later - i - 1) - .001 ? 1 : 0;
  CHECK_MESSAGE(too_near == 0, seen.out);
}

TEST_CASE("top: a recording begins with the first reading, so without an engine there is none") {
  const served d;
  const outcome none = d.shell.run("corewise top --connect nowhere.sock --once --record r; echo $?; ls r");
  CHECK(none.out == "3\n");
  CHECK(d.control("top --once --record r").status == 0);
  CHECK(count_of("\n", d.shell.run("cat r").out) == 1);
}

TEST_CASE("top: an engine that ends is missed, and one that comes in its place is a new one") {
  auto first = std::make_unique<served>();
  for (int i = 0; i < 1000; ++i) CHECK(first->engine.submit([] {}) == corewise::submit_result::accepted);
  first->engine.drain();
  const scratch_shell shell;
  corewise::admin::options o;
  o.control = shell.directory() / "work/e.sock";
  auto server = std::make_unique<corewise::admin::server>(first->engine, o);
  std::thread watching([&] {
    static_cast<void>(shell.run("corewise top --connect e.sock --interval 100ms >seen 2>missed & echo $! "
                                ">id.new; mv id.new id; wait"));
  });
  const auto text_of = [&](const char* file) {
    std::ostringstream text;
    text << std::ifstream(shell.directory() / "work" / file).rdbuf();
    return text.str();
  };
  CHECK(within(60s, [&] { return contains(text_of("seen"), "tasks    finished 0/s"); }));
  server.reset();
  CHECK(within(60s, [&] { return contains(text_of("missed"), "e.sock: there is no such socket"); }));
  served next;
  server = std::make_unique<corewise::admin::server>(next.engine, o);
  CHECK(within(60s, [&] { return contains(text_of("seen"), "the engine has restarted\n"); }));
  ::kill(static_cast<pid_t>(std::stol(text_of("id"))), SIGTERM);
  watching.join();
}
