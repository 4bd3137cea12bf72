// Tests that each line of the log also comes as a record for programs.

#include "small_engine.hpp"

#include <corewise/engine/log_record.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Keeps the records of an engine, and the lines of its log.
class record_book {
 public:
  struct kept {
    log_severity severity;
    std::string code;
    std::string engine;
    std::optional<worker_id> worker;
    std::string task;
    std::map<std::string, std::int64_t> numbers;
    std::string text;
  };

  engine_hooks hooks() {
    engine_hooks h;
    h.log = [this](std::string_view line) {
      const std::scoped_lock lock(mutex_);
      lines_.emplace_back(line);
    };
    h.on_log_record = [this](const log_record& r) {
      const std::scoped_lock lock(mutex_);
      kept k{r.severity,
             std::string(to_string(r.code)),
             std::string(r.engine),
             r.worker,
             std::string(r.task),
             {},
             std::string(r.text)};
      for (const auto& [name, value] : r.numbers) k.numbers[std::string(name)] = value;
      records_.push_back(std::move(k));
    };
    return h;
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  std::vector<kept> records() {
    const std::scoped_lock lock(mutex_);
    return records_;
  }
  /// Waits until a record with that code has come, and returns the first.
  kept wait_for(const std::string& code) {
    for (;;) {
      for (const kept& k : records())
        if (k.code == code) return k;
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<kept> records_;
};

struct parses_orders {
  gate* at;
  void operator()() const { at->pass(); }
};

} // namespace

TEST_CASE("log record: a stuck worker's has its code, the engine, the worker, the task and the numbers") {
  record_book book;
  gate held;
  profile p = small_profile(1);
  p.name = "orders";
  p.blocking.stuck_after = 20ms;
  engine e(p, book.hooks());
  REQUIRE(e.submit(parses_orders{&held}) == submit_result::accepted);
  const record_book::kept stuck = book.wait_for("stuck_worker");
  CHECK(stuck.severity == log_severity::error);
  CHECK(stuck.engine == "orders");
  CHECK(stuck.worker == worker_id{0});
  CHECK(stuck.task.ends_with("parses_orders"));
  CHECK(stuck.numbers.at("ran_ms") >= 20);
  CHECK(stuck.numbers.at("waiting") == 0);
  CHECK(stuck.text.starts_with("worker 0 of group 0 is stuck"));
  held.open();
  e.drain();
}

TEST_CASE("log record: what the machine lacks, failures and work that is left have codes, and each line has "
          "a record") {
  record_book book;
  {
    profile p = two_package_profile(1); // a described machine
    p.on_exception = exception_action::report;
    engine e(p, book.hooks());
    CHECK(e.submit([] { throw std::runtime_error("a bad request"); }) == submit_result::accepted);
    const record_book::kept failed = book.wait_for("task_failed");
    CHECK(failed.severity == log_severity::error);
    CHECK(failed.text == "an exception ended a task: a bad request");
    const record_book::kept machine = book.wait_for("machine");
    CHECK(machine.severity == log_severity::warning);
    CHECK(std::ranges::count(e.warnings(), machine.text) == 1);
    CHECK(!machine.worker);
    e.drain();
  }
  std::vector<std::string> texts;
  for (const record_book::kept& k : book.records()) texts.push_back(k.text);
  CHECK(texts == book.lines());
}
