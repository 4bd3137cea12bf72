#include "axis.hpp"
#include "sizes.hpp"

namespace corewise::command {

namespace {

std::uint64_t pass(engine& e) {
  finish_line end(fork_many_tasks);
  for (std::uint64_t i = 0; i < fork_many_tasks; ++i) post(e, [&end] { end.cross(0); });
  end.wait();
  return fork_many_tasks;
}

} // namespace

const axis fork_many{"fork-many", "a thread outside submits 10,000 tasks, and each counts down",
                     fork_many_tasks, pass, true};

} // namespace corewise::command
