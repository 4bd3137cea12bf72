#include "child_process.hpp"
#include "sockets.hpp"

#include <corewise/engine/this_task.hpp>
#include <corewise/io/on.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
namespace execution = asio::execution;

static_assert(execution::is_executor_v<io::executor>);
static_assert(std::is_convertible_v<io::executor, asio::any_io_executor>);
static_assert(asio::can_require_v<io::executor, execution::blocking_t::never_t>);
static_assert(asio::can_require_v<io::executor, execution::blocking_t::possibly_t>);
static_assert(asio::can_require_v<io::executor, execution::outstanding_work_t::tracked_t>);
static_assert(asio::can_require_v<io::executor, execution::relationship_t::continuation_t>);
static_assert(asio::can_require_v<io::executor, io::run_as>);
static_assert(asio::can_query_v<io::executor, execution::context_t>);
static_assert(asio::can_require_v<io::executor, io::hinted>);
static_assert(asio::can_require_v<asio::strand<io::executor>, io::hinted>);
static_assert(!asio::can_require_v<asio::any_io_executor, io::hinted>); // it knows Asio's own properties only
static_assert(sizeof(io::executor) <= sizeof(asio::any_io_executor::object_type)); // so it lies in one

namespace {

std::size_t threads_of_process() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

} // namespace

TEST_CASE("io::executor: what is posted runs as a task of the engine") {
  served_engine on(2);
  std::promise<bool> ran;
  asio::post(on.io.local(), [&] { ran.set_value(on.engine.this_worker().has_value()); });
  CHECK(ran.get_future().get());
  std::promise<bool> erased;
  asio::any_io_executor any = on.io.local();
  asio::post(any, [&] { erased.set_value(on.engine.this_worker().has_value()); });
  CHECK(erased.get_future().get());
}

TEST_CASE("io::executor: dispatch is inline only in a task of the group") {
  served_engine on(1);
  const io::executor here = on.io.local();
  std::atomic<bool> posted{false};
  on.engine
      .run([&] {
        bool ran = false;
        asio::dispatch(here, [&] { ran = true; });
        CHECK(ran);
        asio::post(here, [&] { posted = true; });
        CHECK_FALSE(posted);
        asio::defer(here, [&] { posted = true; });
        CHECK_FALSE(posted);
        asio::dispatch(asio::require(here, execution::blocking.never), [&] { posted = true; });
        CHECK_FALSE(posted);
      })
      .get();
  on.engine.drain();
  std::thread::id ran_on;
  std::binary_semaphore ran{0};
  asio::dispatch(here, [&] {
    ran_on = std::this_thread::get_id();
    ran.release();
  });
  ran.acquire();
  CHECK(ran_on != std::this_thread::get_id());
}

TEST_CASE("io::executor: in a task of another group of the engine dispatch is not inline") {
  engine e(two_packages());
  io::service io(e);
  for (std::uint32_t w = 0; w < 2; ++w) {
    std::binary_semaphore ran{0};
    e.run(
         [&] {
           const group_id own = e.workers().workers()[e.this_worker()->value].group;
           const auto caller = std::this_thread::get_id();
           bool within_call = true; // read by this thread alone
           bool inline_there = false;
           asio::dispatch(io.of(group_id{1 - own.value}), [&, caller] {
             if (std::this_thread::get_id() == caller) inline_there = within_call;
             ran.release();
           });
           within_call = false;
           CHECK_FALSE(inline_there);
           bool inline_here = false;
           asio::dispatch(io.of(own), [&] { inline_here = true; });
           CHECK(inline_here);
           blocking([&] { ran.acquire(); }); // what was dispatched uses this frame
         },
         hint{.worker = worker_id{w}})
        .get();
  }
}

TEST_CASE("io::executor: its properties") {
  served_engine on(2);
  const io::executor plain = on.io.local();
  CHECK(plain == on.io.of(plain.group()));
  const io::executor never = asio::require(plain, execution::blocking.never);
  CHECK(never != plain);
  CHECK(asio::query(never, execution::blocking) == execution::blocking.never);
  CHECK(asio::query(plain, execution::blocking) == execution::blocking.possibly);
  CHECK(asio::query(asio::require(plain, execution::relationship.continuation), execution::relationship) ==
        execution::relationship.continuation);
  CHECK(&asio::query(plain, execution::context) == &asio::query(never, execution::context));
  CHECK(asio::query(asio::require(plain, io::run_as(task_class::latency)), io::run_as()) ==
        task_class::latency);
  CHECK(on.io.operations() == 0);
  {
    io::executor tracked = asio::require(plain, execution::outstanding_work.tracked);
    CHECK(asio::query(tracked, execution::outstanding_work) == execution::outstanding_work.tracked);
    CHECK(on.io.operations() == 1);
    io::executor copy = tracked;
    CHECK(on.io.operations() == 2);
    io::executor moved = std::move(copy);
    CHECK(on.io.operations() == 2);
    moved = plain;
    CHECK(on.io.operations() == 1);
    tracked = asio::prefer(tracked, execution::outstanding_work.untracked);
    CHECK(on.io.operations() == 0);
  }
  CHECK_THROWS_AS(static_cast<void>(on.io.of(group_id{1000})), std::out_of_range);
}

TEST_CASE("io::executor: what runs through one with a hint has its class and name") {
  served_engine on(1);
  const io::executor plain = on.io.local();
  const io::executor urgent =
      asio::require(plain, io::hinted({.run_as = task_class::latency, .name = "urgent"}));
  CHECK(asio::query(urgent, io::hinted()).run_as == task_class::latency);
  CHECK(asio::query(urgent, io::hinted()).name == std::string("urgent"));
  CHECK(asio::query(urgent, io::hinted()).group == plain.group());
  CHECK(urgent != asio::require(plain, io::run_as(task_class::latency)));
  CHECK(asio::require(urgent, io::hinted()) == plain);
  CHECK(asio::query(asio::require(urgent, io::run_as(task_class::background)), io::hinted()).name ==
        std::string("urgent"));

  std::string order; // of the one worker
  const auto note = [&](char what) {
    return [&order, what] {
      const char* const name = this_task::name();
      order += what + (name != nullptr ? std::string(" ") + name : std::string()) + ", ";
    };
  };
  /// Returns what ran in which order: of two normal tasks that a task posts, the later is the first.
  const auto run = [&](auto begin) {
    order.clear();
    on.engine
        .run([&] {
          begin(note('u'));
          asio::post(plain, note('n'));
        })
        .get();
    REQUIRE(within(5s, [&] { return on.engine.metrics().in_flight() == 0; }));
    return order;
  };
  CHECK(run([&](auto f) { asio::post(plain, f); }) == "n, u, ");
  CHECK(run([&](auto f) { asio::post(urgent, f); }) == "u urgent, n, ");
  CHECK(run([&](auto f) { asio::defer(urgent, f); }) == "u urgent, n, ");
  CHECK(run([&](auto f) { asio::post(asio::make_strand(urgent), f); }) == "u urgent, n, ");
  CHECK(run([&](auto f) { asio::post(asio::any_io_executor(urgent), f); }) == "u urgent, n, ");
  const auto tracked = asio::require(urgent, execution::outstanding_work.tracked);
  CHECK(run([&](auto f) { asio::post(tracked, f); }) == "u urgent, n, ");
  const auto strand = asio::require(asio::make_strand(plain), io::hinted({.name = "of a strand"}));
  CHECK(run([&](auto f) { asio::post(strand, f); }) == "n, u of a strand, ");

  const auto coroutine = [](auto f) -> asio::awaitable<void> {
    f();
    co_await asio::post(asio::use_awaitable);
    f();
  };
  CHECK(run([&](auto f) { asio::co_spawn(urgent, coroutine(f), asio::detached); }) == "u, u urgent, n, ");
  order.clear();
  asio::co_spawn(urgent, coroutine(note('u')), asio::detached); // its beginning is a task of its own here
  REQUIRE(within(5s, [&] { return on.engine.metrics().in_flight() == 0; }));
  CHECK(order == "u urgent, u urgent, ");

  // An erased executor of one's own may know it.
  using erased = execution::any_executor<execution::context_as_t<asio::execution_context&>,
                                         execution::blocking_t::never_t, io::hinted>;
  const erased any = asio::require(erased(plain), io::hinted({.name = "later"}), execution::blocking.never);
  CHECK(asio::query(any, io::hinted()).name == std::string("later"));
  CHECK(run([&](auto f) { any.execute(f); }) == "n, u later, ");
}

TEST_CASE("io::executor: strands, bound executors and Asio's coroutines") {
  served_engine on(4);
  auto strand = asio::make_strand(on.io.local());
  int counted = 0; // guarded by the strand
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i)
    asio::post(strand, [&] {
      if (++counted == 1000) done.set_value();
    });
  done.get_future().get();
  CHECK(counted == 1000);

  std::promise<std::string> answered;
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  asio::co_spawn(
      on.io.local(),
      [&]() -> asio::awaitable<std::string> {
        tcp::socket peer(co_await asio::this_coro::executor);
        co_await peer.async_connect(on_loopback(server.port()), asio::use_awaitable);
        co_await asio::async_write(peer, asio::buffer("hello", 5), asio::use_awaitable);
        std::string answer(5, '\0');
        co_await asio::async_read(peer, asio::buffer(answer), asio::use_awaitable);
        co_return answer;
      },
      [&](std::exception_ptr, std::string answer) { answered.set_value(std::move(answer)); });
  CHECK(answered.get_future().get() == "hello");

  asio::io_context elsewhere;
  asio::steady_timer timer(elsewhere, 1ms);
  std::promise<bool> on_worker;
  timer.async_wait(asio::bind_executor(on.io.local(), [&](const io::error_code&) {
    on_worker.set_value(on.engine.this_worker().has_value());
  }));
  elsewhere.run();
  CHECK(on_worker.get_future().get());
}

TEST_CASE("io::executor: Asio starts no thread") {
  std::thread([] {}).join(); // with the first thread, ThreadSanitizer starts one of its own
  const std::size_t before = threads_of_process();
  served_engine on(2);
  const io::listener server = io::listen(on.io, on_loopback(), {}, echo);
  on.engine
      .run([&]() -> task<> {
        io::tcp_stream peer(on.io.local());
        co_await peer.async_connect(on_loopback(server.port()), io::use_task);
        char bytes[5];
        co_await asio::async_write(peer, asio::buffer("hello", 5), io::use_task);
        co_await asio::async_read(peer, asio::buffer(bytes), io::use_task);
      })
      .get();
  CHECK(threads_of_process() <= before + 2 + 1); // the workers, and the supervisor
}

TEST_CASE("io::executor: a full engine refuses what is posted, and completes what has begun") {
  profile p = served_engine::profile_of(1);
  p.limits.in_flight = 1;
  engine e(p);
  io::service io(e);
  std::binary_semaphore go_on{0};
  std::binary_semaphore begun{0};
  auto full = e.run([&] {
    begun.release();
    blocking([&] { go_on.acquire(); });
  });
  begun.acquire();
  CHECK_THROWS_AS(asio::post(io.local(), [] {}), io::system_error);
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                             io::executor>
      timer(io.local());
  timer.expires_after(1ms);
  std::promise<void> rang;
  timer.async_wait([&](const io::error_code&) { rang.set_value(); });
  rang.get_future().get();
  const auto never_refused =
      asio::make_strand(asio::require(io.local(), asio::execution::outstanding_work.tracked));
  std::promise<void> posted;
  asio::post(never_refused, [&] { posted.set_value(); });
  posted.get_future().get();
  go_on.release();
  full.get();
  e.shutdown(5s);
  bool ran = false;
  asio::post(io.local(), [&] { ran = true; });
  CHECK_FALSE(ran);
}

TEST_CASE("io::on: a coroutine of Asio's awaits a call on an engine") {
  engine e(served_engine::profile_of(2));
  asio::io_context elsewhere;
  int result = 0;
  bool failed = false;
  bool refused = false;
  asio::co_spawn(
      elsewhere,
      [&]() -> asio::awaitable<void> {
        const auto here = std::this_thread::get_id();
        result = co_await io::on(e, [] { return 42; }, asio::use_awaitable);
        CHECK(std::this_thread::get_id() == here);
        try {
          co_await io::on(e, [] { throw std::runtime_error("no"); }, asio::use_awaitable);
        } catch (const std::runtime_error&) {
          failed = true;
        }
        e.shutdown(5s);
        try {
          co_await io::on(e, [] {}, asio::use_awaitable);
        } catch (const not_run&) {
          refused = true;
        }
      },
      asio::detached);
  elsewhere.run();
  CHECK(result == 42);
  CHECK(failed);
  CHECK(refused);
}

TEST_CASE("io::on: a call that the engine refuses for its limit, or has accepted and drops, completes with "
          "not_run") {
  profile p = served_engine::profile_of(1);
  p.limits.in_flight = 2;
  engine e(p);
  std::atomic<bool> begun{false};
  const auto over = std::make_shared<std::atomic<bool>>(false); // the task outlives the shutdown
  REQUIRE(e.submit([&begun, over] { // keeps the worker, so that the accepted call stays in a queue
    begun = true;
    while (!*over) std::this_thread::sleep_for(1ms);
  }) == submit_result::accepted);
  REQUIRE(within(5s, [&] { return begun.load(); }));
  asio::io_context elsewhere;
  std::atomic<int> called{0};
  std::vector<bool> not_runs;
  const auto ask = [&]() -> asio::awaitable<void> {
    try {
      co_await io::on(e, [&] { ++called; }, asio::use_awaitable);
      not_runs.push_back(false);
    } catch (const not_run&) {
      not_runs.push_back(true);
    }
  };
  asio::co_spawn(elsewhere, ask, asio::detached); // accepted
  asio::co_spawn(elsewhere, ask, asio::detached); // refused
  CHECK(within(5s, [&] {                          // the accepted one goes on waiting
    elsewhere.poll();
    return !not_runs.empty();
  }));
  CHECK(not_runs == std::vector{true});
  CHECK_FALSE(e.shutdown(0s).clean());
  *over = true;
  elsewhere.run();
  CHECK(not_runs == std::vector{true, true});
  CHECK(called == 0);
}

TEST_CASE("io::service: an engine has one") {
  served_engine on(1);
  CHECK_THROWS_AS(io::service(on.engine), std::logic_error);
  on.engine.shutdown(1s);
  engine ended(served_engine::profile_of(1));
  ended.shutdown(1s);
  CHECK_THROWS_AS(io::service{ended}, std::logic_error);
}

TEST_CASE("io::executor: in the child of a process fork nothing is taken") {
  served_engine on(2);
  const io::executor here = on.io.local();
  const pid_t child = tests::child_that([&] {
    bool ran = false;
    asio::post(here, [&] { ran = true; });
    asio::dispatch(asio::require(here, execution::outstanding_work.tracked), [&] { ran = true; });
    ::_exit(ran ? 1 : 0);
  });
  CHECK(tests::exit_status(child) == 0);
}
