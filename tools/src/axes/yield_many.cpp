#include "axis.hpp"

#include <corewise/engine/yield.hpp>

namespace corewise::command {

namespace {

constexpr std::uint64_t tasks = 200;
constexpr std::uint64_t yields = 1000;

task<> yielder(finish_line& end) {
  std::uint64_t done = 0;
  for (; done < yields; ++done) co_await yield();
  end.cross(done);
}

std::uint64_t pass(engine& e) {
  finish_line end(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) post(e, yielder(end));
  return end.wait();
}

} // namespace

const axis yield_many{"yield-many", "200 tasks yield 1,000 times each", tasks* yields, pass};

} // namespace corewise::command
