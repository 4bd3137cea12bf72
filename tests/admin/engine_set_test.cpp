// Tests of an admin server for several engines.

#include "asking.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine_set.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

std::string set_socket() { return "/tmp/corewise_admin_set." + std::to_string(::getpid()); }

profile per_package() {
  profile p;
  p.name = "d<b>"; // as a text in a page it is none of the page's own
  p.topology.machine.source = synthetic_source{"pack:2 core:1 pu:1"};
  p.engines.per = machine_part::package;
  return p;
}

/// Two engines, and a server with both sockets.
struct served_set {
  served_set() : engines(per_package()), server(engines, with()) {}

  static admin::options with() {
    admin::options o;
    o.control = set_socket();
    o.read_only = "127.0.0.1:0";
    o.agent = "127.0.0.1:0";
    return o;
  }
  std::string control(const std::string& line, const std::string& body = "",
                      const std::string& fields = "") const {
    return ask(client(set_socket()), line, fields, body);
  }

  engine_set engines;
  admin::server server;
};

} // namespace

TEST_CASE("admin: of several engines, metrics, health and load are those of all") {
  served_set on;
  on.engines[1].run([] {}).get();
  const std::string metrics = on.control("GET /metrics");
  CHECK(is(metrics, 200));
  CHECK(has(metrics, "corewise_tasks_submitted_total{engine=\"d<b>/p0\"} 0\n"));
  CHECK(has(metrics, "corewise_tasks_submitted_total{engine=\"d<b>/p1\"} 1\n"));
  CHECK(is(on.control("GET /health/ready"), 200));
  CHECK(has(on.control("GET /load"), "\ncapacity_cpus=2.0\n"));
  CHECK(has(client(on.server.agent_port()).rest(), "ready up 100%"));
}

TEST_CASE("admin: of several engines, one is named where an answer is about one") {
  const served_set on;
  for (const char* path : {"/topology", "/live", "/trace?seconds=1"}) {
    CAPTURE(path);
    const std::string answer = on.control(std::string("GET ") + path);
    CHECK(is(answer, 400));
    CHECK(has(answer, "d<b>/p0, d<b>/p1"));
    const std::string with = std::string(path) + (has(path, "?") ? "&" : "?") + "engine=d%3Cb%3E/p1";
    CHECK(is(on.control("GET " + with), 200));
  }
  CHECK(is(on.control("GET /topology?engine=other"), 400));
  CHECK(is(on.control("GET /metrics?engine=other"), 400));
  CHECK(is(on.control("GET /health/live?engine=other"), 400));
  CHECK(is(on.control("GET /load?engine=other"), 400));
  CHECK(has(on.control("GET /load?engine=d%3Cb%3E/p0"), "\ncapacity_cpus=1.0\n"));
  const std::string one = on.control("GET /metrics?engine=d%3Cb%3E/p0");
  CHECK(has(one, "d<b>/p0"));
  CHECK_FALSE(has(one, "d<b>/p1"));
  CHECK(has(on.control("GET /health/ready?engine=d%3cb%3e/p0"), "ok\n"));
}

TEST_CASE("admin: a dump has all engines; as JSON, one") {
  const served_set on;
  const std::string all = on.control("GET /dump");
  CHECK(has(all, "engine d<b>/p0\n"));
  CHECK(has(all, "engine d<b>/p1\n"));
  const std::string json = "Accept: application/json\r\n";
  CHECK(is(on.control("GET /dump", "", json), 400));
  CHECK(is(on.control("GET /dump?engine=d%3Cb%3E/p0", "", json), 200));
  CHECK(has(on.control("GET /metrics", "", json), "{\"engines\":{\"d<b>/p0\":{"));
}

TEST_CASE("admin: browsers get a list of the engines, and the map of one") {
  const served_set on;
  const std::string html = "Accept: text/html\r\n";
  const std::string list = on.control("GET /", "", html);
  CHECK(is(list, 200));
  CHECK(has(list, "<a href=\"/?engine=d%3Cb%3E/p0\">d&lt;b&gt;/p0</a>"));
  CHECK(has(on.control("GET /?engine=d%3Cb%3E/p0", "", html), "<script"));
  CHECK(has(on.control("GET /"), "name one of the engines"));
}

TEST_CASE("admin: a profile is applied to all engines, or to the one that is named, also on trial") {
  served_set on;
  const std::string head = "topology: {source: {synthetic: \"pack:2 core:1 pu:1\"}}\nname: \"d<b>\"\n";
  const std::string for_all = head + "engines: {per: package}\nqueues: {lifo_cap: 1}\n";
  const auto caps = [&] {
    return std::to_string(on.engines[0].configuration().queues.lifo_cap) +
           std::to_string(on.engines[1].configuration().queues.lifo_cap);
  };
  CHECK(is(on.control("PUT /profile", for_all), 200));
  CHECK(caps() == "11");
  CHECK(has(on.control("GET /profile"), "per: package"));
  CHECK(is(on.control("PUT /profile", head + "queues: {lifo_cap: 2}\n"), 422)); // engines.per is another
  CHECK(caps() == "11");

  const std::string its = on.control("GET /profile?engine=d%3Cb%3E/p1");
  CHECK(has(its, "packages:"));
  const std::string one = its.substr(its.find("\r\n\r\n") + 4) + "on_exception: report\n";
  CHECK(is(on.control("PUT /profile?engine=d%3Cb%3E/p1", one), 200));
  CHECK(on.engines[1].configuration().on_exception == exception_action::report);
  CHECK(on.engines[0].configuration().on_exception == exception_action::terminate);

  CHECK(is(
      on.control("PUT /profile?revert_after=5s", head + "engines: {per: package}\nqueues: {lifo_cap: 2}\n"),
      200));
  CHECK(caps() == "22");
  for (int i = 0; i < 400 && caps() != "11"; ++i) std::this_thread::sleep_for(50ms);
  CHECK(caps() == "11");
}

TEST_CASE(
    "admin: the trial of one engine's profile goes on when another one is changed, and ends by itself") {
  served_set on;
  const auto put = [&](int engine, const std::string& more, const std::string& query = "") {
    const std::string name = "engine=d%3Cb%3E/p" + std::to_string(engine);
    const std::string its = on.control("GET /profile?" + name);
    return on.control("PUT /profile?" + name + query, its.substr(its.find("\r\n\r\n") + 4) + more);
  };
  const auto reports = [&](std::size_t engine) {
    return on.engines[engine].configuration().on_exception == exception_action::report;
  };
  CHECK(is(put(0, "on_exception: report\n", "&revert_after=5s"), 200));
  CHECK(is(put(1, "on_exception: report\n"), 200));
  CHECK(reports(0));
  for (int i = 0; i < 400 && reports(0); ++i) std::this_thread::sleep_for(50ms);
  CHECK_FALSE(reports(0));
  CHECK(reports(1));
}

TEST_CASE("admin: a trial for all leaves alone what was changed by itself since") {
  served_set on;
  const std::string all = "topology: {source: {synthetic: \"pack:2 core:1 pu:1\"}}\nname: \"d<b>\"\n"
                          "engines: {per: package}\nqueues: {lifo_cap: 1}\n";
  CHECK(is(on.control("PUT /profile?revert_after=5s", all), 200));
  const std::string its = on.control("GET /profile?engine=d%3Cb%3E/p1");
  CHECK(is(
      on.control("PUT /profile?engine=d%3Cb%3E/p1", its.substr(its.find("\r\n\r\n") + 4) + "strict: false\n"),
      200));
  const auto cap = [&](std::size_t engine) { return on.engines[engine].configuration().queues.lifo_cap; };
  for (int i = 0; i < 400 && cap(0) == 1; ++i) std::this_thread::sleep_for(50ms);
  CHECK(cap(0) == profile{}.queues.lifo_cap);
  CHECK(cap(1) == 1); // confirmed
  CHECK_FALSE(has(on.control("GET /profile"), "lifo_cap"));
}

TEST_CASE("admin: a set of one engine takes and shows the profile of its file") {
  profile p = per_package();
  p.topology.machine.source = synthetic_source{"pack:1 core:2 pu:1"};
  engine_set engines(p);
  REQUIRE(engines.size() == 1);
  admin::options o = served_set::with();
  const admin::server server(engines, o);
  const auto control = [&](const std::string& line, const std::string& body = "") {
    return ask(client(o.control), line, "", body);
  };
  const std::string shown = control("GET /profile");
  CHECK(has(shown, "per: package"));
  CHECK(
      is(control("PUT /profile", shown.substr(shown.find("\r\n\r\n") + 4) + "on_exception: report\n"), 200));
  CHECK(engines[0].configuration().on_exception == exception_action::report);
  CHECK(engines.configuration()->on_exception == exception_action::report);
  CHECK(is(control("GET /topology"), 200));
  CHECK(is(control("GET /topology?engine=d%3Cb%3E/p0"), 200));
  CHECK_FALSE(has(control("GET /metrics"), "engine="));
}

TEST_CASE("admin: a profile for all says which engines have another one") {
  served_set on;
  const auto remark = [](int engine) {
    const std::string number = std::to_string(engine);
    return "# d<b>/p" + number + " has another profile: ?engine=d%3Cb%3E/p" + number + "\n";
  };
  CHECK_FALSE(has(on.control("GET /profile"), "#"));
  profile fewer = on.engines[0].configuration();
  fewer.workers.total = 1; // it has no key
  CHECK(on.engines[0].apply(fewer).applied());
  CHECK(has(on.control("GET /profile"), "\r\n\r\n" + remark(0) + "version: 1\n"));
  const std::string its = on.control("GET /profile?engine=d%3Cb%3E/p1");
  CHECK_FALSE(has(its, "#"));
  const std::string another = its.substr(its.find("\r\n\r\n") + 4) + "on_exception: report\n";
  CHECK(is(on.control("PUT /profile?engine=d%3Cb%3E/p1", another), 200));
  const std::string all = on.control("GET /profile");
  CHECK(has(all, remark(0) + remark(1)));

  std::string renamed = all.substr(all.find("\r\n\r\n") + 4);
  renamed.replace(renamed.find("d<b>\""), 5, "renamed\"");
  CHECK(is(on.control("PUT /profile", renamed), 200));
  CHECK(on.engines[1].configuration().on_exception == exception_action::terminate);
  CHECK_FALSE(has(on.control("GET /profile"), "#"));
}

TEST_CASE("admin: a set of one engine shows what was given to the engine by its name") {
  for (const machine_part per : {machine_part::machine, machine_part::package}) {
    profile p = per_package();
    p.topology.machine.source = synthetic_source{"pack:1 core:2 pu:1"};
    p.engines.per = per;
    engine_set engines(p);
    REQUIRE(engines.size() == 1);
    const admin::server server(engines, served_set::with());
    const auto control = [&](const std::string& line, const std::string& body = "") {
      const std::string answer = ask(client(set_socket()), line, "", body);
      CHECK(is(answer, 200));
      return answer.substr(answer.find("\r\n\r\n") + 4);
    };
    const std::string shown = control("GET /profile");
    const std::string which = per == machine_part::machine ? "?engine=d%3Cb%3E" : "?engine=d%3Cb%3E/p0";
    control("PUT /profile" + which, control("GET /profile" + which) + "on_exception: report\n");
    CHECK(engines[0].configuration().on_exception == exception_action::report);
    const std::string changed = control("GET /profile");
    CHECK(changed == shown + "on_exception: report\n");
    control("PUT /profile", changed); // a profile for all, as it is shown
    CHECK(engines.configuration()->on_exception == exception_action::report);
    CHECK(control("GET /profile") == changed);
  }
}
