#include "runtime/load_history.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/load.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using detail::load_history;
using detail::load_sample;

namespace {

/// A sample of an engine of four workers of full speed at rest.
load_sample four_workers(detail::monotonic::time_point at) {
  load_sample s;
  s.at = at;
  s.workers = 4;
  s.capacity = s.active = 4;
  s.heads.resize(2);
  return s;
}

const detail::monotonic::time_point begin = detail::monotonic::now();

} // namespace

TEST_CASE("load: utilisation is busy time over the capacity that is there, of the last window") {
  load_history history(four_workers(begin), 1s);
  load_sample s = four_workers(begin);
  s.queued = 5;
  s.running = 2;
  load_report r;
  for (int i = 1; i <= 8; ++i) {
    s.at += 125ms;
    s.busy_cpus += 375ms;
    r = history.add(s);
    CHECK(r.window == i * 125ms);
    CHECK(r.cpu_utilization == doctest::Approx(.75));
  }
  CHECK(r.utilization == doctest::Approx(.75));
  CHECK(r.effective_capacity == doctest::Approx(4));
  CHECK(r.expected_delay == doctest::Approx(2)); // (5 + 2 + 1) / 4
  CHECK_FALSE(r.requests);
  for (int i = 1; i <= 8; ++i) { // idle since then
    s.at += 125ms;
    r = history.add(s);
    CHECK(r.window == 1s);
    CHECK(r.cpu_utilization == doctest::Approx(.75 * (8 - i) / 8));
  }
  s.at += 30s; // no reading meanwhile
  s.busy_cpus += 60s;
  r = history.add(s);
  CHECK(r.window == 30s);
  CHECK(r.cpu_utilization == doctest::Approx(.5));
}

TEST_CASE("load: right at the beginning what runs stands for what ran") {
  load_history history(four_workers(begin), 1s);
  load_sample s = four_workers(begin + 1us);
  s.running = 3;
  CHECK(history.add(s).cpu_utilization == doctest::Approx(.75));
}

TEST_CASE("load: retired workers are no capacity") {
  load_history history(four_workers(begin), 1s);
  load_sample s = four_workers(begin + 2s);
  s.workers = 3;
  s.active = 3;
  s.busy_cpus = 3s;
  const load_report r = history.add(s);
  CHECK(r.capacity == doctest::Approx(4));
  CHECK(r.effective_capacity == doctest::Approx(3));
  CHECK(r.cpu_utilization == doctest::Approx(.5));
}

TEST_CASE("load: a quota bounds the capacity, and so does time for which others' use of it stopped threads") {
  load_history history(four_workers(begin), 1s);
  load_sample s = four_workers(begin + 1s);
  s.throttling.quota_cpus = 3;
  s.busy_cpus = 1500ms;
  load_report r = history.add(s);
  CHECK(r.capacity == doctest::Approx(4));
  CHECK(r.effective_capacity == doctest::Approx(3));
  CHECK(r.cpu_utilization == doctest::Approx(.5));

  s.at += 2s;
  s.throttling_at = s.at;
  s.throttling.throttled = 6s; // in 2 s: 3 CPUs beside the 3 that the group may use
  load_history since_start(four_workers(begin), 1s);
  static_cast<void>(since_start.add(s)); // the first look has none before it to compare with
  s.at += 2s;
  s.throttling_at = s.at;
  s.throttling.throttled += 6s;
  r = since_start.add(s);
  CHECK(r.effective_capacity == doctest::Approx(2));
  s.at += 500ms; // the system was not asked again
  CHECK(since_start.add(s).effective_capacity == doctest::Approx(2));
  s.at += 500ms;
  s.throttling_at = s.at;
  CHECK(since_start.add(s).effective_capacity == doctest::Approx(3));
}

TEST_CASE("load: a large machine does not hide that others use the quota up") {
  load_sample s = four_workers(begin);
  s.throttling.quota_cpus = 4;
  s.throttling_at = s.at;
  load_history history(s, 1s);
  s.at += 2s;
  s.throttling_at = s.at;
  s.throttling.throttled =
      4s; // in 2 s, of the 64 CPUs on which the group may run: it wants 6 CPUs and gets 4
  CHECK(history.add(s).effective_capacity == doctest::Approx(4 * 4 / 6.0));
}

TEST_CASE("load: waiting times are those of the window; without samples there are none") {
  load_sample s = four_workers(begin);
  s.waited.counts[10] = 1000;
  load_history history(s, 1s);
  s.at += 1s;
  CHECK_FALSE(history.add(s).wait_p50);
  s.waited.counts[3] += 98;
  s.waited.counts[time_histogram::bounds] += 2; // above all bounds
  s.at += 1s;
  const load_report r = history.add(s);
  CHECK(r.wait_p50 == time_histogram::bound(3));
  CHECK(r.wait_p99 == 2 * time_histogram::bound(time_histogram::bounds - 1));
}

TEST_CASE("load: the oldest wait is that of the queue from which nothing was taken for longest") {
  load_history history(four_workers(begin), 1s);
  load_sample s = four_workers(begin + 1s);
  s.heads = {{.waiting = 3, .taken = 7}, {.waiting = 0, .taken = 1}};
  CHECK(history.add(s).oldest_wait == 0s);
  s.at += 2s;
  CHECK(history.add(s).oldest_wait == 2s);
  s.heads[1] = {.waiting = 1, .taken = 1};
  s.at += 1s;
  CHECK(history.add(s).oldest_wait == 3s);
  s.heads[0].taken = 8;
  s.at += 1s;
  CHECK(history.add(s).oldest_wait == 1s);
  s.heads[1].waiting = 0;
  s.at += 1s;
  CHECK(history.add(s).oldest_wait == 1s);
}

TEST_CASE("load: a limit of requests counts as a resource; rates are of the window") {
  load_sample s = four_workers(begin);
  s.requests = {.counts = {.begun = 10, .ended = 8, .failed = 1, .found = 50}, .limit = 8, .latency = 3ms};
  load_history history(s, 1s);
  s.at += 2s;
  s.busy_cpus = 800ms;
  s.requests->counts = {.begun = 20, .ended = 18, .failed = 6, .found = 110};
  load_report r = history.add(s);
  REQUIRE(r.requests);
  CHECK(r.requests->in_flight == 2);
  CHECK(r.requests->mean_in_flight == doctest::Approx(6));
  CHECK(r.requests->rps == doctest::Approx(5));
  CHECK(r.requests->eps == doctest::Approx(2.5));
  CHECK(r.requests->latency == 3ms);
  CHECK(r.cpu_utilization == doctest::Approx(.1));
  CHECK(r.utilization == doctest::Approx(.75));
  s.at += 2s; // nothing begins
  r = history.add(s);
  CHECK(r.requests->mean_in_flight == doctest::Approx(2));
  CHECK(r.utilization == doctest::Approx(.25));
}

TEST_CASE("load: a meter reads an engine: at rest, with tasks that wait, at its end") {
  gate hold;
  engine e(small_profile(2));
  request_meter requests(4);
  load_meter meter(e, &requests);
  load_report r = meter.read();
  CHECK(r.state == health_state::ok);
  CHECK(r.capacity == doctest::Approx(2));
  CHECK(r.effective_capacity > .02); // the machine may have a quota
  CHECK(r.tasks_in_flight == 0);
  CHECK(r.oldest_wait == 0s);

  for (int i = 0; i < 2; ++i) REQUIRE(e.submit([&] { hold.pass(); }) == submit_result::accepted);
  hold.wait_for(2);
  for (int i = 0; i < 50; ++i) REQUIRE(e.submit([] {}) == submit_result::accepted);
  const request_meter::request here = requests.begin();
  REQUIRE(within(30s, [&] {
    r = meter.read();
    return r.oldest_wait > 100ms && r.cpu_utilization > .5;
  }));
  CHECK(r.tasks_in_flight == 52);
  CHECK(r.tasks_queued == 50);
  CHECK(r.tasks_running == 2);
  CHECK(r.expected_delay >= 53 / 2.0);
  CHECK(r.requests->in_flight == 1);
  REQUIRE(e.apply(small_profile(1)).applied());
  REQUIRE(within(30s, [&] { return meter.read().effective_capacity < 1.01; }));
  CHECK(meter.read().capacity == doctest::Approx(2));
  hold.open();
  e.drain();
  REQUIRE(within(30s, [&] { return meter.read().tasks_in_flight == 0; }));
  CHECK(meter.read().oldest_wait == 0s);
  static_cast<void>(e.shutdown(1s, 1s));
  CHECK(within(30s, [&] { return meter.read().state == health_state::ended; }));
}

TEST_CASE("load: threads read one meter, within 50 ms the same report; meters do not disturb each other") {
  engine e(small_profile(1));
  load_meter one(e);
  load_meter other(e);
  static_cast<void>(one.read());
  std::vector<std::jthread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&] {
      for (int n = 0; n < 200; ++n) static_cast<void>(one.read());
    });
  all.clear();
  CHECK(within(5s, [&] { return one.read().window == one.read().window; }));
  std::this_thread::sleep_for(60ms);
  const load_report r = other.read(); // since it was made
  CHECK(r.window >= 60ms);
  static_cast<void>(other.read());
  static_cast<void>(one.read());
  CHECK(one.read().window >= 60ms);
}

TEST_CASE("load: a window that is longer than any time has all since the meter was made") {
  engine e(small_profile(1));
  load_meter always(e, nullptr, std::chrono::hours::max());
  load_meter between_readings(e, nullptr, std::chrono::duration<double>(-1e300));
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(60ms);
    static_cast<void>(between_readings.read());
    const load_report r = always.read();
    CHECK(r.window >= 60ms * (i + 1));
  }
  CHECK(between_readings.read().window >= 60ms);
}

TEST_CASE("load: that of several engines is their sum, and the worst of what has none") {
  load_report a{.state = health_state::ok};
  a.tasks_in_flight = 10, a.tasks_queued = 3, a.tasks_running = 2;
  a.wait_p99 = 5ms;
  a.capacity = 4, a.effective_capacity = 4, a.cpu_utilization = a.utilization = .5;
  load_report b{.state = health_state::degraded};
  b.tasks_in_flight = 1, b.tasks_queued = 0, b.tasks_running = 2;
  b.wait_p50 = 1ms, b.wait_p99 = 2ms, b.oldest_wait = 7ms;
  b.capacity = 4, b.effective_capacity = 1, b.cpu_utilization = b.utilization = 1;
  b.requests = request_load{.mean_in_flight = 9, .limit = 10};
  const load_report all = sum_of({a, b});
  CHECK(all.state == health_state::degraded);
  CHECK(all.tasks_in_flight == 11);
  CHECK(all.wait_p50 == 1ms); // the only one
  CHECK(all.wait_p99 == 5ms);
  CHECK(all.oldest_wait == 7ms);
  CHECK(all.capacity == doctest::Approx(8));
  CHECK(all.effective_capacity == doctest::Approx(5));
  CHECK(all.expected_delay == doctest::Approx((3 + 2 + 2 + 1) / 5.));
  CHECK(all.cpu_utilization == doctest::Approx((.5 * 4 + 1) / 5));
  CHECK(all.utilization == doctest::Approx(.9)); // of the requests
  const load_report one = sum_of({a});
  CHECK(one.cpu_utilization == doctest::Approx(.5));
  CHECK(one.expected_delay == doctest::Approx(6 / 4.));
}
