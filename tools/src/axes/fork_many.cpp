#include "axis.hpp"

namespace corewise::command {

namespace {

constexpr std::uint64_t tasks = 10'000;

std::uint64_t pass(engine& e) {
  finish_line end(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) post(e, [&end] { end.cross(0); });
  end.wait();
  return tasks;
}

} // namespace

const axis fork_many{"fork-many", "a thread from outside submits 10,000 tasks, each counts down", tasks, pass,
                     true};

} // namespace corewise::command
