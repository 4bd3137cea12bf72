#include "axis.hpp"
#include "sizes.hpp"

#include <corewise/engine/oneshot.hpp>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot: it needs no block

namespace corewise::command {

namespace {

task<> child(oneshot<std::uint64_t>& question, oneshot<std::uint64_t>& answer) {
  answer.send(co_await question.receive() + 1);
}

task<> pair(engine& e, finish_line& end, std::uint64_t number) {
  oneshot<std::uint64_t> question;
  oneshot<std::uint64_t> answer;
  post(e, child(question, answer));
  question.send(number);
  const bool right = co_await answer.receive() == number + 1;
  end.cross(right ? 1 : 0);
}

std::uint64_t pass(engine& e) {
  finish_line end(ping_pong_pairs);
  post(e, [&] {
    for (std::uint64_t i = 0; i < ping_pong_pairs; ++i) post(e, pair(e, end, i));
  });
  return end.wait();
}

} // namespace

const axis ping_pong{"ping-pong",
                     "a task submits 1,000 tasks, and each submits a child and awaits its answer",
                     ping_pong_pairs, pass};

} // namespace corewise::command
