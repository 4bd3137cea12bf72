#include "faults.hpp"
#include "queues/segment_writer.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

// Other threads come between two steps of a thread that takes from an injection queue, or asks for its
// length.

using namespace corewise;
using namespace corewise::detail;

namespace {

template <std::uint32_t N> constexpr auto most = [](std::uint32_t /*waiting*/) noexcept { return N; };

} // namespace

TEST_CASE("injection queue: a producer does not wait for a consumer, and its task goes behind those that are "
          "there") {
  std::array<task_header, 4> tasks;
  injection_queue queue;
  queue.push(&tasks[0]);
  queue.push(&tasks[1]);
  std::size_t put = 2;
  bool waits = false;
  // The fifth step comes after the lock of the back: before, this thread would wait for itself.
  tests::at_each_step([&, step = 0]() mutable {
    if (waits || ++step < 5 || put == 3) return;
    waits = true; // the push has steps of its own
    queue.push(&tasks[put++]);
    waits = false;
  });
  task_chain taken = queue.pop(2);
  tests::at_each_step({});
  CHECK(put == 3);
  CHECK(taken.pop() == &tasks[0]);
  CHECK(taken.pop() == &tasks[1]);
  CHECK(taken.pop() == nullptr);
  CHECK(queue.size() == 1);
  CHECK(queue.pop(2).first == &tasks[2]);
}

TEST_CASE("injection queue: a consumer that finds another one at work gets nothing, and does not wait") {
  std::array<task_header, 3> tasks;
  injection_queue queue;
  for (task_header& t : tasks) queue.push(&t);
  std::uint32_t length = 0;
  std::uint32_t got = 0;
  // Here the taker holds the lock: `pop` would wait for itself.
  tests::at_each_step([&, step = 0, looks = false]() mutable {
    if (looks || ++step != 5) return;
    looks = true;
    std::jthread([&] {
      length = queue.size();
      got = queue.try_pop(most<3>).size;
    }).join();
    looks = false;
  });
  CHECK(queue.try_pop(most<1>).first == &tasks[0]);
  tests::at_each_step({});
  CHECK(length == 3);
  CHECK(got == 0);
  CHECK(queue.try_pop(most<3>).size == 2);
  CHECK(queue.try_pop(most<3>).size == 0);
}

TEST_CASE("injection queue: its length is never negative, although consumers take while it is read") {
  std::array<task_header, 2> tasks;
  injection_queue queue;
  queue.push(&tasks[0]);
  bool acts = false;
  tests::at_each_step([&] {
    if (acts) return;
    acts = true;
    queue.push(&tasks[1]);
    static_cast<void>(queue.pop(2));
    acts = false;
  });
  const std::uint32_t size = queue.size();
  tests::at_each_step({});
  CHECK(size <= 2);
  CHECK(queue.size() == 0);
}

namespace {

/// Tasks that count their runs; segments bring them into a queue.
struct counted_tasks {
  int put = 0;
  int run = 0;
  injection_queue queue;
  segment_writer writer;

  counted_tasks() {
    for (std::uint32_t row = 0; row < segment_writer::long_row; ++row)
      write(); // the next one begins a segment
    take_all();
    put = run = 0;
  }
  counted_tasks(const counted_tasks&) = delete;
  counted_tasks& operator=(const counted_tasks&) = delete;

  void write() {
    ++put;
    writer.push(queue, make_closure([this] { ++run; }));
  }
  bool take() {
    task_header* t = queue.pop(1).first;
    return t != nullptr && t->act(t, task_action::run);
  }
  void take_all() {
    while (take()) {
    }
    CHECK(queue.size() == 0);
  }
};

/// Calls `meanwhile`, and `f` once in the given one of its steps. Returns whether that step came.
template <class F, class G> bool in_step(int step, F f, G meanwhile) {
  int steps = 0;
  bool within = false;
  tests::at_each_step([&] {
    if (within || ++steps != step) return;
    within = true; // f has steps of its own
    f();
    within = false;
  });
  meanwhile();
  tests::at_each_step({});
  return steps >= step;
}

} // namespace

TEST_CASE("injection queue: a task that is written while its segment is being abandoned is not lost") {
  int steps = 0;
  for (bool came = true; came;) {
    counted_tasks t;
    t.write();
    came = in_step(++steps, [&] { t.write(); }, [&] { t.take(); });
    t.take_all();
    CHECK(t.run == t.put);
  }
  CHECK(steps > 7);
}

TEST_CASE("injection queue: a segment that is abandoned while its writer writes a task gets no task") {
  int steps = 0;
  for (bool came = true; came;) {
    counted_tasks t;
    t.write();
    came = in_step(++steps, [&] { t.take_all(); }, [&] { t.write(); });
    CHECK(t.run == (came ? 1 : 0));
    CHECK(t.queue.count() == (came ? 1 : 2));
    t.take_all();
    CHECK(t.run == t.put);
  }
  CHECK(steps == 2);
}
