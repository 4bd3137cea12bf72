#include "counting.hpp"
#include "kind.hpp"
#include "work_clock.hpp"

#include <corewise/engine/channel.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/task_local.hpp>
#include <corewise/engine/when_all.hpp>
#include <corewise/engine/yield.hpp>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

// The instructions of coroutines on one worker.

namespace corewise::bench {

namespace {

/// Runs the work on the worker, counted, and waits until it has ended.
void run_counted(engine& e, task<> work) {
  sync_wait(e, [](task<> counted) -> task<> {
    begin_counting();
    co_await std::move(counted);
    end_counting();
  }(std::move(work)));
}

constexpr std::uint64_t company = 200;

task<> yielder(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    co_await yield();
    pass_operation();
  }
}

void run_yields(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    co_await in_scope([&](scope& s) -> task<> {
      for (std::uint64_t i = 0; i < company; ++i) s.fork(yielder(times));
      co_return;
    });
  }(operations / company));
}

task<> answers(oneshot<std::uint64_t>& question, oneshot<std::uint64_t>& answer) {
  const std::uint64_t number = co_await question.receive();
  answer.send(number + 1);
}

task<> asks(engine& e, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    oneshot<std::uint64_t> question;
    oneshot<std::uint64_t> answer;
    post(e, answers(question, answer));
    question.send(i);
    const std::uint64_t number = co_await answer.receive();
    check(number == i + 1);
    pass_operation();
  }
}

void run_oneshots(engine& e, std::uint64_t operations) { run_counted(e, asks(e, operations)); }

using sender = oneshot_sender<std::uint64_t>;
using receiver = oneshot_receiver<std::uint64_t>;

task<> answers_by_halves(receiver question, sender answer) { answer.send(co_await question.receive() + 1); }

task<> asks_by_halves(engine& e, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    auto question = make_oneshot<std::uint64_t>();
    auto answer = make_oneshot<std::uint64_t>();
    post(e, answers_by_halves(std::move(question.second), std::move(answer.first)));
    question.first.send(i);
    const std::uint64_t number = co_await answer.second.receive();
    check(number == i + 1);
    pass_operation();
  }
}

void run_halves(engine& e, std::uint64_t operations) { run_counted(e, asks_by_halves(e, operations)); }

task<std::uint64_t> one(std::uint64_t number) { co_return number; }

void run_awaits(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    for (std::uint64_t i = 0; i < times; ++i) {
      const std::uint64_t number = co_await one(i);
      check(number == i);
      pass_operation();
    }
  }(operations));
}

const task_local<std::uint64_t> bound_number{};

task<std::uint64_t> read_bound() { co_return *bound_number.get(); }

void run_bound_values(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    for (std::uint64_t i = 0; i < times; ++i) {
      const task_local<std::uint64_t>::value bound(bound_number, i);
      const std::uint64_t number = co_await read_bound();
      check(number == i);
      pass_operation();
    }
  }(operations));
}

void run_when_all(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    for (std::uint64_t i = 0; i < times; ++i) {
      const auto [a, b] = co_await when_all(one(i), one(1));
      check(a + b == i + 1);
      pass_operation();
    }
  }(operations));
}

void run_channel(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    channel<std::uint64_t> c(1);
    for (std::uint64_t i = 0; i < times; ++i) {
      co_await c.send(std::uint64_t{i});
      const std::optional<std::uint64_t> value = co_await c.receive();
      check(value == i);
      pass_operation();
    }
  }(operations));
}

task<> sends(channel<std::uint64_t>& to, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) co_await to.send(std::uint64_t{i});
}

task<> receives(channel<std::uint64_t>& from, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    const std::optional<std::uint64_t> value = co_await from.receive();
    check(value == i);
    pass_operation();
  }
}

void run_hand_over(engine& e, std::uint64_t operations) {
  run_counted(e, [](std::uint64_t times) -> task<> {
    channel<std::uint64_t> c(0);
    co_await when_all(receives(c, times), sends(c, times));
  }(operations));
}

} // namespace

const kind yields{"yield", "200 coroutines yield in turn; one turn", 1, 10'000, run_yields};
const kind oneshot_round_trip{"oneshot",
                              "a coroutine submits another, asks it and awaits the answer, by a oneshot each",
                              1, 10'000, run_oneshots};
const kind oneshot_halves{"oneshot-halves", "the same by make_oneshot", 1, 10'000, run_halves};
const kind awaits{"await", "a task<T> that is awaited and answers at once", 1, 10'000, run_awaits};
const kind bound_value{"bound-value",
                       "a task_local value that is bound, and read by a task<T> that is awaited", 1, 10'000,
                       run_bound_values};
const kind when_all_of_two{"when-all", "a when_all of two that answer at once", 1, 10'000, run_when_all};
const kind channel_alone{"channel", "a value sent and received by the same coroutine, which never waits", 1,
                         10'000, run_channel};
const kind channel_hand_over{"channel-hand-over",
                             "a value from one coroutine to another by a channel without room", 1, 10'000,
                             run_hand_over};

} // namespace corewise::bench
