#include "axis.hpp"
#include "sizes.hpp"

#include <corewise/engine/yield.hpp>

namespace corewise::command {

namespace {

task<> yielder(finish_line& end) {
  std::uint64_t done = 0;
  for (; done < yields_of_each; ++done) co_await yield();
  end.cross(done);
}

std::uint64_t pass(engine& e) {
  finish_line end(yield_many_tasks);
  for (std::uint64_t i = 0; i < yield_many_tasks; ++i) post(e, yielder(end));
  return end.wait();
}

} // namespace

const axis yield_many{"yield-many", "200 tasks yield 1,000 times each", yield_many_tasks* yields_of_each,
                      pass};

} // namespace corewise::command
