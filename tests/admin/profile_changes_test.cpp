#include "admin_server.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

TEST_CASE("admin: a profile is read, changed, refused with all errors, and reverted after its trial") {
  const std::string base = "workers: {pin: none}\n";
  served on(parse_profile(base));
  CHECK(has(on.control("GET /profile"), "\r\nContent-Type: application/yaml\r\n"));
  CHECK(is(on.control("PUT /profile", base + "queues: {budget: 77}\n"), 200));
  CHECK(on.e.configuration().queues.budget == 77);
  CHECK(has(on.control("GET /profile"), "budget: 77"));
  const std::string user = "user " + std::to_string(::geteuid());
  CHECK(on.logged(user + ": changed the profile"));

  const std::string wrong = on.control("PUT /profile", "queues: {budgte: 1}\nidle: {park_timeout: soon}\n");
  CHECK(is(wrong, 422));
  CHECK(has(wrong, "budgte"));
  CHECK(has(wrong, "park_timeout"));
  CHECK(is(on.control("PUT /profile", base + "queues: {local: 16}\n"), 422)); // needs a restart
  CHECK(on.e.configuration().queues.budget == 77);
  CHECK(on.logged(user + ": refused a profile"));

  CHECK(is(on.control("PUT /profile?revert_after=3s", base + "queues: {budget: 88}\n"), 200));
  CHECK(on.e.configuration().queues.budget == 88);
  CHECK(within(10s, [&] { return on.e.configuration().queues.budget == 77; }));
  CHECK(within(5s, [&] { return on.logged("the trial is over"); }));

  CHECK(is(on.control("PUT /profile?revert_after=3s", base + "queues: {budget: 99}\n"), 200));
  CHECK(is(on.control("PUT /profile", base + "queues: {budget: 99}\n"), 200)); // confirmed
  std::this_thread::sleep_for(3500ms);
  CHECK(on.e.configuration().queues.budget == 99);
  for (const char* time : {"0s", "1", "s", "1d", "25h", "-1s", "99999999999s"})
    CHECK(is(on.control(std::string("PUT /profile?revert_after=") + time, base + "queues: {budget: 1}\n"),
             400));
  CHECK(on.e.configuration().queues.budget == 99);
}

TEST_CASE("admin: the program sets again what it sets in code, or refuses a profile") {
  profile p = small(1);
  p.on_exception = exception_action::report;
  engine e(p);
  admin::options o;
  o.control = "/tmp/corewise_before_apply_test." + std::to_string(::getpid());
  o.before_apply = [](profile& wanted) {
    wanted.on_exception = exception_action::report;
    wanted.workers = small(1).workers;
    wanted.topology = small(1).topology;
    if (wanted.queues.budget == 3) throw std::invalid_argument("3 is too few here");
  };
  const admin::server server(e, o);
  const auto put = [&](const std::string& yaml) { return ask(client(o.control), "PUT /profile", "", yaml); };
  CHECK(is(put("queues: {budget: 77}\n"), 200));
  CHECK(e.configuration().queues.budget == 77);
  CHECK(e.configuration().on_exception == exception_action::report);
  const std::string refused = put("queues: {budget: 3}\n");
  CHECK(is(refused, 422));
  CHECK(has(refused, "the program refuses this profile: 3 is too few here"));
  CHECK(e.configuration().queues.budget == 77);
}

TEST_CASE("admin: a request without a profile changes nothing") {
  const std::string own = "workers: {pin: none}\nqueues: {budget: 77}\n";
  const served on(parse_profile(own));
  CHECK(is(on.control("PUT /profile"), 400));
  for (const char* body : {" \n", "# queues: {budget: 1}\n\n  # strict: true", "---\n",
                           "--- # none\r\n...\r\n", "\xEF\xBB\xBF# a\n", "%YAML 1.2\n---\n", "null\n", "~"}) {
    CAPTURE(body);
    const std::string refused = on.control("PUT /profile", body);
    CHECK(is(refused, 400));
    CHECK(has(refused, "{} is one with all defaults"));
  }
  CHECK(on.e.configuration().queues.budget == 77);
}

TEST_CASE("admin: a profile that the program applies during a trial stays") {
  const std::string base = "workers: {pin: none}\n";
  served on(parse_profile(base));
  CHECK(is(on.control("PUT /profile?revert_after=3s", base + "queues: {budget: 88}\n"), 200));
  CHECK(on.e.apply(parse_profile(base + "queues: {budget: 99}\n")).applied());
  CHECK(within(10s, [&] { return on.logged("the program has changed the profile meanwhile"); }));
  CHECK(on.e.configuration().queues.budget == 99);
}

TEST_CASE("admin: a number of workers that the program sets during a trial stays") {
  engine e(parse_profile("workers: {pin: none}\n"));
  std::vector<std::string> lines;
  admin::options o;
  o.control = socket_path();
  o.log = [&](std::string_view line) { lines.emplace_back(line); };
  {
    const admin::server server(e, o);
    const std::string wanted = "workers: {pin: none}\nqueues: {budget: 88}\n";
    CHECK(is(ask(client(o.control), "PUT /profile?revert_after=24h", "", wanted), 200));
    profile fewer = e.configuration();
    fewer.workers.total = 1; // it has no key
    CHECK(e.apply(fewer).applied());
  } // the trial ends
  CHECK(has(lines.back(), "the program has changed the profile meanwhile"));
  CHECK(e.configuration().workers.total == 1);
  CHECK(e.configuration().queues.budget == 88);
}

TEST_CASE("admin: a trial ends with the server, and the log is told, even one that throws") {
  const profile before = small(1);
  engine e(before);
  const auto budget = [&] { return e.configuration().queues.budget; };
  for (const bool log_throws : {false, true}) {
    CAPTURE(log_throws);
    std::vector<std::string> lines;
    admin::options o;
    o.control = socket_path();
    o.before_apply = [](profile& wanted) { wanted.workers = small(1).workers; };
    o.log = [&](std::string_view line) {
      lines.emplace_back(line);
      if (log_throws && has(lines.back(), "ends")) throw std::runtime_error("no log");
    };
    {
      const admin::server server(e, o);
      CHECK(is(ask(client(o.control), "PUT /profile?revert_after=24h", "", "queues: {budget: 88}\n"), 200));
      CHECK(budget() == 88);
    }
    CHECK(budget() == before.queues.budget);
    CHECK(lines.back() == "the trial ends with the admin server: the profile before it holds again");
  }
  admin::options o;
  o.control = socket_path();
  o.before_apply = [](profile& wanted) { wanted.workers = small(1).workers; };
  {
    const admin::server server(e, o);
    CHECK(is(ask(client(o.control), "PUT /profile?revert_after=24h", "", "queues: {budget: 88}\n"), 200));
    CHECK(is(ask(client(o.control), "PUT /profile", "", "queues: {budget: 88}\n"), 200));
  }
  CHECK(budget() == 88); // confirmed
}
