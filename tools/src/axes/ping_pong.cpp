#include "axis.hpp"
#include "sizes.hpp"

#include <corewise/engine/oneshot.hpp>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the one-piece oneshot

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

task<> child_with_halves(oneshot_receiver<std::uint64_t> question, oneshot_sender<std::uint64_t> answer) {
  answer.send(co_await question.receive() + 1);
}

task<> pair_with_halves(engine& e, finish_line& end, std::uint64_t number) {
  auto [ask, asked] = make_oneshot<std::uint64_t>();
  auto [reply, answer] = make_oneshot<std::uint64_t>();
  post(e, child_with_halves(std::move(asked), std::move(reply)));
  ask.send(number);
  const bool right = co_await answer.receive() == number + 1;
  end.cross(right ? 1 : 0);
}

template <task<> (*Pair)(engine&, finish_line&, std::uint64_t)> std::uint64_t pass(engine& e) {
  finish_line end(ping_pong_pairs);
  post(e, [&] {
    for (std::uint64_t i = 0; i < ping_pong_pairs; ++i) post(e, Pair(e, end, i));
  });
  return end.wait();
}

} // namespace

const axis ping_pong{"ping-pong",
                     "a task submits 1,000 tasks, and each submits a child and awaits its answer",
                     ping_pong_pairs, pass<pair>};
const axis ping_pong_halves{"ping-pong-halves", "the same by make_oneshot; ping-pong has one-piece oneshots",
                            ping_pong_pairs, pass<pair_with_halves>};

} // namespace corewise::command
