#include "child_process.hpp"
#include "recording/recording.hpp"
#include "small_engine.hpp"
#include "within.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/event.hpp>
#include <corewise/engine/mutex.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/engine/yield.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using kind = trace_event::kind;

namespace {

std::vector<trace_event> of_task(const engine_trace& t, std::uint64_t task) {
  std::vector<trace_event> found;
  std::ranges::copy_if(t.events, std::back_inserter(found),
                       [&](const trace_event& e) { return e.task == task; });
  return found;
}

/// Returns the first event of that kind where `is` holds; fails where there is none.
template <class F> trace_event first(const engine_trace& t, kind what, const F& is) {
  const auto at =
      std::ranges::find_if(t.events, [&](const trace_event& e) { return e.what == what && is(e); });
  REQUIRE(at != t.events.end());
  return *at;
}
trace_event first(const engine_trace& t, kind what) {
  return first(t, what, [](const trace_event&) { return true; });
}

std::vector<kind> kinds_of(const std::vector<trace_event>& events) {
  std::vector<kind> all;
  for (const trace_event& e : events) all.push_back(e.what);
  return all;
}

auto named(const engine_trace& t, std::string_view part) {
  return [&t, part](const trace_event& e) { return t.texts.at(e.text).find(part) != std::string::npos; };
}

} // namespace

TEST_CASE("trace: a closure is queued by its submitter, begun and ended by a worker") {
  engine e(small_profile(1));
  trace_session session(e);
  std::uint32_t worker_thread = 0;
  (void)e.submit([&] { worker_thread = static_cast<std::uint32_t>(::gettid()); });
  e.drain();
  REQUIRE(
      within(5s, [&] { return e.dump().seats[0].state == seat_state::parked; })); // so the end was recorded
  const engine_trace t = session.finish();
  const trace_event begun = first(t, kind::begun);
  const std::vector<trace_event> own = of_task(t, begun.task);
  CHECK(kinds_of(own) == std::vector<kind>{kind::queued, kind::begun, kind::ended});
  CHECK(t.threads[own[0].thread].id == static_cast<std::uint32_t>(::gettid()));
  CHECK(t.threads[own[1].thread].id == worker_thread);
  CHECK(own[1].worker == 0);
  CHECK(t.texts[own[1].text].find("_test_case") == std::string::npos);
  CHECK(std::ranges::is_sorted(t.events, {}, &trace_event::at));
  CHECK(t.lost == 0);
  CHECK_FALSE(t.full);
}

TEST_CASE("trace: a coroutine is one task through its waits, with its name and id") {
  engine e(small_profile(1)); // none steals
  trace_session session(e);
  const trace_id id{0x1234, 0x5678};
  const char* const long_name = "a name that takes more than the 24 bytes which an event has room for";
  e.run(
       []() -> task<> {
         co_await sleep_for(1ms);
         co_await yield();
       }(),
       {.name = long_name, .id = id})
      .get();
  REQUIRE(within(5s, [&] { return e.dump().seats[0].state == seat_state::parked; }));
  const engine_trace t = session.finish();
  const trace_event begun = first(t, kind::begun, named(t, long_name));
  CHECK(t.texts[begun.text].find(to_string(id)) != std::string::npos);
  const std::vector<trace_event> own = of_task(t, begun.task);
  // A yield is not queued, since it is no wait for a worker.
  CHECK(kinds_of(own) == std::vector<kind>{kind::queued, kind::begun, kind::suspended, kind::queued,
                                           kind::begun, kind::suspended, kind::begun, kind::ended});
  CHECK(own[3].at - own[1].at >
        900us); // its sleep of 1 ms began between these, and the clocks differ a little
}

TEST_CASE("trace: a coroutine that goes on says for what it has waited") {
  event happened;
  mutex guard;
  mutex_guard held;
  const auto locks = [&]() -> task<> { held = co_await guard.lock(); };
  const auto waits_twice = [&]() -> task<> {
    co_await happened.wait();
    const auto own = co_await guard.lock();
    co_await sleep_for(200ms); // not over before the clock is read again
  };
  engine e(small_profile(1));
  trace_session session(e);
  e.run(locks()).get();
  auto waits = e.run(waits_twice(), {.name = "waits"});
  const auto comes_to_wait = [&](wait_kind what) {
    return within(5s, [&] {
      const auto all = e.dump().suspended;
      return all.size() == 1 && all[0].kind == what;
    });
  };
  REQUIRE(comes_to_wait(wait_kind::event));
  happened.set();
  REQUIRE(comes_to_wait(wait_kind::mutex));
  held.unlock();
  waits.get();
  REQUIRE(within(5s, [&] { return e.dump().seats[0].state == seat_state::parked; }));
  const engine_trace t = session.finish();
  std::vector<std::pair<kind, std::optional<wait_kind>>> own;
  for (const trace_event& seen : of_task(t, first(t, kind::begun, named(t, "waits")).task))
    if (seen.what == kind::queued || seen.what == kind::suspended) own.emplace_back(seen.what, seen.waited);
  const std::vector<std::pair<kind, std::optional<wait_kind>>> expected{{kind::queued, {}},
                                                                        {kind::suspended, wait_kind::event},
                                                                        {kind::queued, wait_kind::event},
                                                                        {kind::suspended, wait_kind::mutex},
                                                                        {kind::queued, wait_kind::mutex},
                                                                        {kind::suspended, {}}, // it sleeps
                                                                        {kind::queued, {}}};
  CHECK(own == expected);
  CHECK(t.to_json().find(R"("name":"waits: mutex")") != std::string::npos);
}

TEST_CASE("trace: workers sleep and wake, tasks block, and stolen ones say from where") {
  profile own_tasks_stay = small_profile(2);
  own_tasks_stay.dispatch.policy = "local_first";
  engine e(own_tasks_stay);
  const auto both_sleep = [&] {
    return within(5s, [&] {
      const engine_dump d = e.dump();
      return std::ranges::all_of(d.seats, [](const auto& s) { return s.state == seat_state::parked; });
    });
  };
  REQUIRE(both_sleep()); // so that one is woken
  trace_session session(e);
  std::uint32_t victim = trace_event::none;
  gate both;
  // A task submits to its own worker, and holds it until another worker has one of these tasks: it has stolen that.
  (void)e.submit([&] {
    victim = e.this_worker()->value;
    for (int i = 0; i < 8; ++i) (void)e.submit([&] { both.pass(); });
    both.wait_for(1);
    both.open();
    blocking([] { std::this_thread::sleep_for(1ms); });
  });
  e.drain();
  REQUIRE(both_sleep());
  const engine_trace t = session.finish();
  CHECK(first(t, kind::blocking).at <= first(t, kind::unblocked).at);
  CHECK(first(t, kind::parked).worker < 2);
  CHECK(first(t, kind::woken).worker < 2);
  const trace_event stolen = first(t, kind::stolen);
  CHECK(stolen.worker == victim);
  CHECK(stolen.count >= 1);
  CHECK(stolen.distance == level::same_group);
  CHECK(first(t, kind::load).worker < 2);
}

TEST_CASE("trace: an engine's trace has no events of another one") {
  engine one(small_profile(1));
  engine other(small_profile(1));
  trace_session session(one);
  (void)other.submit([] {});
  other.drain();
  CHECK(std::ranges::none_of(session.finish().events, [](const trace_event& e) { return e.task != 0; }));
}

TEST_CASE("trace: what is not traced records nothing, and a second trace has nothing of the first") {
  engine e(small_profile(1));
  for (int round = 0; round < 3; ++round) {
    (void)e.submit([] {});
    e.drain();
    REQUIRE(within(5s, [&] { return e.dump().seats[0].state == seat_state::parked; }));
    CHECK(std::ranges::none_of(trace_session(e).finish().events,
                               [](const trace_event& seen) { return seen.task != 0; }));
  }
}

TEST_CASE("trace: a session that is full says so, and keeps what came first") {
  engine e(small_profile(1));
  trace_session session(e, 100);
  for (int i = 0; i < 1000; ++i) (void)e.submit([] {});
  e.drain();
  const engine_trace t = session.finish();
  CHECK(t.events.size() <= 100);
  CHECK(t.full);
}

TEST_CASE("trace: events that were not collected in time are counted as lost") {
  engine e(small_profile(1));
  trace_session session(e);
  (void)e.submit([] {});
  e.drain();
  session.collect();
  e.run([]() -> task<> {
     for (int i = 0; i < 20'000; ++i) co_await yield();
   }())
      .get();
  const engine_trace t = session.finish();
  CHECK(t.lost > 10'000);
  CHECK(t.events.size() < 20'000);
}

TEST_CASE("trace: a worker may take one only within `blocking`") {
  engine e(small_profile(1));
  CHECK_THROWS_AS(e.run([&] { return e.trace(1ms); }).get(), std::logic_error);
  CHECK_NOTHROW(e.run([&] { return blocking([&] { return e.trace(1ms); }); }).get());
}

TEST_CASE("trace: threads that come and go while it runs") {
  engine e(small_profile(2));
  std::atomic<bool> over{false};
  std::atomic<int> gone{0};
  std::jthread submitting([&] {
    for (; !over; ++gone) {
      std::jthread([&] {
        for (int i = 0; i < 100; ++i) (void)e.submit([] {});
      }).join();
      std::this_thread::sleep_for(100us); // else events are lost, or too many
    }
  });
  trace_session session(e, 2'000'000); // a full one lacks the ends of some tasks
  const int before_it = gone;
  for (const auto end = std::chrono::steady_clock::now() + 200ms;
       std::chrono::steady_clock::now() < end || gone - before_it < 6; std::this_thread::sleep_for(1ms))
    session.collect();
  const engine_trace t = session.finish();
  over = true;
  submitting.join();
  std::set<std::uint32_t> threads;
  for (const trace_event& seen : t.events) threads.insert(t.threads[seen.thread].id);
  CHECK(threads.size() > 4);
  CHECK_FALSE(t.full);
  std::map<std::uint64_t, kind> last; // of each task: queued, begun, ended and so on in turns
  for (const trace_event& seen : t.events) {
    if (seen.task == 0 || t.lost != 0) continue;
    const auto before = last.find(seen.task);
    if (before != last.end() && seen.what == kind::begun) CHECK(before->second != kind::begun);
    if (before != last.end() && seen.what == kind::ended) CHECK(before->second == kind::begun);
    if (seen.what != kind::stolen) last[seen.task] = seen.what;
  }
}

TEST_CASE(
    "trace: the report of a stuck worker comes with what happened before, where the profile records it") {
  for (const bool records : {true, false}) {
    CAPTURE(records);
    profile p = small_profile(2);
    p.blocking.stuck_after = 50ms;
    p.debug.flight_recorder = records;
    std::atomic<bool> reported{false};
    std::atomic<bool> has_trace{false};
    engine_trace seen;
    engine_hooks hooks;
    hooks.log = [&](std::string_view) { reported = true; };
    hooks.on_stuck_trace = [&](const engine_trace& t) {
      if (!has_trace) seen = t;
      has_trace = true;
    };
    engine e(p, hooks);
    const auto stuck = [&] {
      while (!reported || has_trace != records) std::this_thread::yield();
    };
    e.run([&] { REQUIRE(e.submit(stuck, {.name = "stuck"}) == submit_result::accepted); }, {.name = "before"})
        .get();
    e.drain();
    CHECK(has_trace == records);
    if (!records) continue;
    const trace_event before = first(seen, kind::begun, named(seen, "before"));
    const trace_event begun = first(seen, kind::begun, named(seen, "stuck"));
    CHECK(before.at <= begun.at);
    CHECK(of_task(seen, begun.task).back().what == kind::begun); // it has not ended
  }
}

TEST_CASE("trace: in JSON slices close, arrows have both ends, and names are text") {
  engine e(small_profile(2));
  trace_session session(e);
  for (int i = 0; i < 50; ++i)
    e.run([]() -> task<> { co_await sleep_for(10us); }(), {.name = "\"<script>\"\n"}).get();
  const auto made = nlohmann::json::parse(session.finish().to_json());
  std::map<int, std::vector<std::string>> open;
  std::map<int, int> starts;
  std::map<int, int> ends;
  bool seen_name = false;
  for (const auto& event : made["traceEvents"]) {
    const std::string ph = event["ph"];
    if (ph == "B") {
      open[event["tid"]].push_back(event["name"]);
      seen_name = seen_name || std::string(event["name"]).find("(\"<script>\"\n)") != std::string::npos;
    }
    if (ph == "E") {
      auto& on = open[event["tid"]];
      REQUIRE_FALSE(on.empty());
      CHECK(on.back() == std::string(event["name"]));
      on.pop_back();
    }
    if (ph == "s") ++starts[event["id"]];
    if (ph == "f") ++ends[event["id"]];
  }
  for (const auto& [thread, names] : open) CHECK(names.empty());
  CHECK(starts == ends);
  CHECK(starts.size() >= 90); // most of the 50 tasks are queued twice
  CHECK(seen_name);
}

TEST_CASE("trace: a session without an end collects until it is told to stop") {
  engine e(small_profile(1));
  trace_session session(e);
  std::stop_source stop;
  std::atomic<bool> ended{false};
  std::jthread collects([&] {
    session.collect_for(std::chrono::hours::max(), stop.get_token());
    ended = true;
  });
  e.run([] {}).get();
  std::this_thread::sleep_for(50ms);
  CHECK(!ended);
  stop.request_stop();
  collects.join();
  CHECK(!session.finish().events.empty());
}

TEST_CASE("trace: a busy engine does not fill the trace of another one") {
  engine one(small_profile(1));
  engine other(small_profile(1));
  trace_session session(one, 100);
  for (int i = 0; i < 1000; ++i) (void)other.submit([] {});
  other.drain();
  session.collect();
  (void)one.submit([] {});
  one.drain();
  REQUIRE(within(5s, [&] { return one.dump().seats[0].state == seat_state::parked; }));
  const engine_trace t = session.finish();
  CHECK_FALSE(t.full);
  CHECK(t.lost == 0);
  CHECK(first(t, kind::ended).task != 0);
}

TEST_CASE("trace: a coroutine that has lost its seat and waits then has not ended") {
  engine e(small_profile(1));
  trace_session session(e);
  std::atomic<bool> other{false};
  const auto waits = [&]() -> task<> {
    blocking([&] {
      (void)e.submit([&] { other = true, other.notify_all(); });
      other.wait(false); // so a spare thread has the seat
    });
    co_await sleep_for(1ms);
  };
  e.run(waits()).get();
  e.drain();
  REQUIRE(within(5s, [&] { return e.dump().seats[0].state == seat_state::parked; }));
  const engine_trace t = session.finish();
  const std::uint64_t own =
      first(t, kind::blocking).task != 0 ? first(t, kind::blocking).task : first(t, kind::begun).task;
  const std::vector<kind> what = kinds_of(of_task(t, own));
  CHECK(std::ranges::count(what, kind::ended) == 1);
}

TEST_CASE("trace: the child of a process fork records nothing of a session of its parent") {
  engine e(small_profile(1));
  trace_session session(e);
  e.run([] {}).get();
  REQUIRE(detail::recording());
  const int status = tests::exit_status(tests::child_that([] { ::_exit(detail::recording() ? 1 : 0); }));
  CHECK(status == 0);
  CHECK(detail::recording());
}
