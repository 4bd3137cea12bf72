#include "axis.hpp"
#include "sizes.hpp"

namespace corewise::command {

namespace {

struct link {
  engine* e;
  finish_line* end;
  std::uint64_t number;

  void operator()() const {
    if (number == chained_fork_depth)
      end->cross(number);
    else
      post(*e, link{e, end, number + 1});
  }
};

std::uint64_t pass(engine& e) {
  finish_line end(1);
  post(e, link{&e, &end, 1});
  return end.wait();
}

} // namespace

const axis chained_fork{"chained-fork", "each task submits the next, 1,000 of them", chained_fork_depth, pass,
                        true};

} // namespace corewise::command
