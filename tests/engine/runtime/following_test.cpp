// Tests of an engine whose host changes what it allows, fed by a recorded machine.

#include "following.hpp"
#include "reloading.hpp"
#include "topology/recorded_host.hpp"
#include "within.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;

namespace {

/// Waits until so many workers know that they have retired.
bool retired(const engine& e, int workers) {
  return within(10s, [&] {
    return std::ranges::count(e.dump().seats, seat_state::retired, &seat_dump::state) == workers &&
           e.metrics().outdated == 0;
  });
}

std::vector<std::uint32_t> by_group(const engine& e) {
  std::vector<std::uint32_t> active(e.groups().size());
  for (const worker_metrics& w : e.metrics().workers)
    active[w.group.value] += static_cast<std::uint32_t>(w.active);
  return active;
}

} // namespace

TEST_CASE("following: a quota that shrinks retires workers, and one that grows calls them back") {
  const recorded_host host(8);
  change_log log;
  engine e(waiting(host), log.hooks());
  CHECK(active_workers(e) == 8);
  CHECK_FALSE(e.refresh());
  host.quota("250000 100000");
  const std::optional<machine_change> less = e.refresh();
  REQUIRE(less);
  CHECK(less->workers_before == 8);
  CHECK(less->workers_now == 3);
  CHECK(less->now.quota_cpus == 2.5);
  CHECK(less->text ==
        "the host has changed what it allows: quota 2.5 CPUs, before none; 3 workers take tasks, before 8");
  CHECK(active_workers(e) == 3);
  CHECK(retired(e, 5));
  for (const std::uint32_t w : workers_of(e, 200)) CHECK(e.metrics().workers[w].active == 1);
  host.quota("max 100000");
  CHECK(e.refresh()->workers_now == 8);
  CHECK(active_workers(e) == 8);
  CHECK(e.metrics().machine_changes == 2);
  CHECK(e.metrics().last_machine_change ==
        "the host has changed what it allows: quota none, before 2.5 CPUs; 8 workers "
        "take tasks, before 3");
  const engine_dump d = e.dump();
  CHECK(d.last_machine_change == e.metrics().last_machine_change);
  CHECK(d.to_text().find("change 2 of the machine: " + d.last_machine_change + "\n") != std::string::npos);
  CHECK(d.to_json().find(R"("last_machine_change": ")" + d.last_machine_change + '"') != std::string::npos);
  const std::vector<std::string> lines = log.lines();
  CHECK(lines.size() == 2);
  CHECK(lines.front() == less->text);
}

TEST_CASE("following: while tasks run the engine looks by itself, and no task is lost") {
  const recorded_host host(8);
  engine e(following(host));
  const steady_load load(e);
  host.quota("50000 100000");
  CHECK(within(10s, [&] { return active_workers(e) == 1; }));
  const auto grown = std::chrono::steady_clock::now();
  host.quota("max 100000");
  CHECK(within(20s, [&] { return active_workers(e) == 8; }));
  CHECK(std::chrono::steady_clock::now() - grown > 1900ms);
}

TEST_CASE("following: while no task runs the engine does not look, and with the next one it does") {
  const recorded_host host(4);
  engine e(following(host));
  begin_supervisor(e);
  std::this_thread::sleep_for(2500ms); // the supervisor goes to sleep
  host.quota("100000 100000");
  std::this_thread::sleep_for(300ms);
  CHECK(active_workers(e) == 4);
  begin_supervisor(e);
  CHECK(within(10s, [&] { return active_workers(e) == 1; }));
}

TEST_CASE("following: it is off where the profile says so, and a reload turns it on") {
  const recorded_host host(4);
  profile p = following(host);
  p.topology.follow.kind = follow_setting::mode::off;
  engine e(p);
  const steady_load load(e);
  host.quota("100000 100000");
  std::this_thread::sleep_for(100ms);
  CHECK(active_workers(e) == 4);
  CHECK(e.apply(following(host)).applied());
  CHECK(within(10s, [&] { return active_workers(e) == 1; }));
}

TEST_CASE("following: a group whose CPUs are gone hands over what it has") {
  const recorded_host host(4);
  profile p = waiting(host);
  p.steal.policy = "none"; // else others take it
  p.queues.budget = 1;     // else the group runs some of it in what is left of a tick
  engine e(p);
  REQUIRE(e.groups().size() == 2);
  gate held;
  for (std::uint32_t w = 0; w < 4; ++w)
    REQUIRE(e.submit([&] { held.pass(); }, {.worker = worker_id{w}}) == submit_result::accepted);
  held.wait_for(4);
  std::atomic<int> ran{0};
  std::atomic<int> ran_there{0};
  const auto note = [&] {
    ++ran;
    if (e.this_worker()->value >= 2) ++ran_there;
  };
  for (int i = 0; i < 100; ++i) REQUIRE(e.submit(note, {.group = group_id{1}}) == submit_result::accepted);
  SUBCASE("the affinity mask shrinks") { host.allow("0-1"); }
  SUBCASE("the cpuset shrinks") { host.cpuset("0-1"); }
  SUBCASE("the CPUs go offline") { host.online("0-1"); }
  CHECK(e.refresh()->workers_now == 2);
  CHECK(by_group(e) == std::vector<std::uint32_t>{2, 0});
  held.open();
  e.drain();
  CHECK(ran == 100);
  CHECK(ran_there == 0);
  CHECK(retired(e, 2));
  for (const std::uint32_t w : workers_of(e, 100)) CHECK(w < 2);
  host.allow("0-3");
  host.cpuset("0-3");
  host.online("0-3");
  CHECK(e.refresh()->workers_now == 4);
  CHECK(by_group(e) == std::vector<std::uint32_t>{2, 2});
}

TEST_CASE(
    "following: a profile that comes while a group is gone gives it no more workers than it has seats") {
  const recorded_host host(4);
  profile p = waiting(host);
  p.workers.total = 4;
  engine e(p);
  begin_supervisor(e);
  host.allow("0-1");
  CHECK(e.refresh()->workers_now == 2);
  CHECK_FALSE(e.apply(with_workers(p, 5)).applied());
  CHECK(e.apply(with_workers(p, 3)).applied());
  CHECK(by_group(e) == std::vector<std::uint32_t>{2, 0});
  profile each = p;
  each.workers.total.reset();
  each.workers.per_group = 3;
  CHECK_FALSE(e.apply(each).applied());
  host.allow("0-3");
  CHECK(e.refresh()->workers_now == 3);
  CHECK(by_group(e) == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("following: hooks may ask the engine to look, to reload and to say how it is") {
  const recorded_host host(4);
  engine* self = nullptr;
  int calls = 0;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) {
    if (r.code != log_code::machine_changed || self == nullptr) return;
    ++calls;
    static_cast<void>(self->refresh());
    CHECK(self->apply(self->configuration()).applied());
    CHECK(self->dump().machine_changes == 1);
  };
  engine e(waiting(host), hooks);
  self = &e;
  host.quota("100000 100000");
  CHECK(e.refresh()->workers_now == 1);
  CHECK(calls == 1);
  self = nullptr;
}

TEST_CASE("following: CPUs of which nothing was known lead to one line that advises a restart") {
  const recorded_host host(8);
  host.allow("0-1");
  engine e(waiting(host));
  begin_supervisor(e);
  CHECK(active_workers(e) == 2);
  host.allow("0-5");
  CHECK(e.refresh()->workers_now == 2);
  host.allow("0-1");
  CHECK(e.refresh());
  host.allow("0-5");
  CHECK(e.refresh());
  std::size_t lines = 0;
  for (const std::string& w : e.warnings())
    lines +=
        w ==
        "the host allows CPUs 2-5 too, of which nothing was known when the engine began: a restart would "
        "use them";
  CHECK(lines == 1);
}

TEST_CASE("following: a cpuset that grows beyond the affinity mask is told, and changes no worker") {
  const recorded_host host(8);
  host.allow("0-1");
  host.cpuset("0-1");
  engine e(waiting(host));
  begin_supervisor(e);
  host.cpuset("0-3");
  const std::optional<machine_change> more = e.refresh();
  REQUIRE(more);
  CHECK(more->text ==
        "the host has changed what it allows: cpuset 0-3, before 0-1; still 2 workers take tasks");
  CHECK(e.warnings().back() ==
        "the host allows CPUs 2-3 too, of which nothing was known when the engine began: a "
        "restart would use them");
}

TEST_CASE("following: where all CPUs that it knows are gone the engine goes on as before") {
  const recorded_host host(8);
  host.allow("0-1");
  engine e(waiting(host));
  begin_supervisor(e);
  host.allow("4-5");
  CHECK(e.refresh()->workers_now == 2);
  CHECK(workers_of(e, 100).size() <= 2);
}

TEST_CASE("following: where limits may be hidden, as in a container, the log says so once") {
  const recorded_host host(2);
  host.in_container();
  std::vector<std::string> lines;
  engine_hooks hooks;
  hooks.on_log_record = [&](const log_record& r) { lines.emplace_back(r.text); };
  profile p = waiting(host);
  const auto begin_engine = [&] { return engine(p, hooks).warnings(); };
  const std::vector<std::string> warnings = begin_engine();
  REQUIRE(lines.size() == warnings.size() + 1); // it is no warning: nothing is missing that was asked for
  CHECK(std::ranges::count_if(lines, [](const std::string& line) {
          return line.find("as in a container") != std::string::npos;
        }) == 1);
  p.topology.follow = {follow_setting::mode::off, {}};
  begin_engine();
  CHECK(lines.size() == 2 * warnings.size() + 1);
}

TEST_CASE("thread limit: an engine warns where its control group allows fewer threads than it may need") {
  const recorded_host host(4);
  const auto warns = [&](int most) {
    host.threads(most);
    const engine e(waiting(host));
    return std::ranges::count_if(e.warnings(), [&](const std::string& w) {
      return w.starts_with("the control group allows " + std::to_string(most) +
                           " threads (pids.max, TasksMax), and the engine may need 69: 4 for workers, 64 to");
    });
  };
  CHECK(warns(68) == 1);
  CHECK(warns(69) == 0);
}

TEST_CASE("following: a worker is left, also where the allowed CPUs are those of groups without one") {
  const recorded_host host(16);
  profile p = waiting(host);
  SUBCASE("a given number") { p.workers.total = 1; }
  SUBCASE("a quota") { host.quota("100000 100000"); }
  engine e(p);
  begin_supervisor(e);
  CHECK(active_workers(e) == 1);
  host.allow("10-15");
  CHECK(e.refresh()->workers_now == 1);
  CHECK(e.run([] { return 7; }).get() == 7);
}

TEST_CASE("following: what cannot be read is no change, and a host that comes back is followed again") {
  const recorded_host host(4);
  host.quota("200000 100000");
  engine e(waiting(host));
  CHECK(active_workers(e) == 2);
  CHECK(e.workers().size() == 4);
  steady_load load(e);
  std::filesystem::rename(host.root() + "/sys", host.root() + "/lost");
  CHECK_FALSE(e.refresh());
  CHECK(active_workers(e) == 2); // not as many as without a quota
  std::filesystem::rename(host.root() + "/proc", host.root() + "/gone");
  CHECK_FALSE(e.refresh());
  CHECK(active_workers(e) == 2);
  std::filesystem::rename(host.root() + "/gone", host.root() + "/proc");
  std::filesystem::rename(host.root() + "/lost", host.root() + "/sys");
  host.quota("100000 100000");
  CHECK(e.refresh()->workers_now == 1);
  CHECK(load.ended()); // no task is lost
}

TEST_CASE("following: refreshes, reloads and tasks at the same time lose nothing") {
  const recorded_host host(8);
  engine e(following(host));
  const steady_load load(e);
  std::atomic<bool> over{false};
  std::thread refreshes([&] {
    for (int i = 0; !over; ++i) {
      host.quota(i % 2 == 0 ? "150000 100000" : "max 100000");
      static_cast<void>(e.refresh());
    }
  });
  profile other = following(host);
  other.queues.lifo_cap = 0;
  for (int i = 0; i < 100; ++i) {
    CHECK(e.apply(i % 2 == 0 ? other : following(host)).applied());
    std::this_thread::sleep_for(1ms);
  }
  over = true;
  refreshes.join();
  host.quota("max 100000");
  static_cast<void>(e.refresh());
  CHECK(active_workers(e) == 8);
}
