// A pipeline: one stage reads, several work, one writes, with channels in between. A stage that is ahead
// waits for room, and a stage with nothing to do waits for work: as a coroutine, while its worker runs
// others. Closing a channel ends the stage behind it.
#include <corewise/engine/channel.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/latch.hpp>
#include <corewise/engine/scope.hpp>
#include <corewise/engine/semaphore.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

using corewise::channel;
using corewise::scope;
using corewise::task;

namespace {

constexpr std::string_view text = "the quick brown fox jumps over the lazy dog and the slow dog sleeps ";

task<> read(int lines, channel<std::string>& words) {
  for (int line = 0; line < lines; ++line)
    for (std::size_t from = 0, to = 0; (to = text.find(' ', from)) != text.npos; from = to + 1)
      co_await words.send(std::string(text.substr(from, to - from)));
  words.close();
}

task<> capitalize(channel<std::string>& words, channel<std::string>& done, corewise::semaphore& licences) {
  for (auto word = co_await words.receive(); word; word = co_await words.receive()) {
    co_await licences.acquire(); // two at a time may do this
    word->front() = static_cast<char>(word->front() - 'a' + 'A');
    licences.release();
    co_await done.send(std::move(*word));
  }
}

task<> count(channel<std::string>& done, std::map<std::string, int>& counts) {
  for (auto word = co_await done.receive(); word; word = co_await done.receive()) ++counts[*word];
}

task<> close_behind(corewise::latch& workers, channel<std::string>& done) {
  co_await workers.wait();
  done.close();
}

task<std::map<std::string, int>> count_words(int lines) {
  channel<std::string> words(16);
  channel<std::string> done(16);
  corewise::semaphore licences(2);
  corewise::latch workers(4);
  std::map<std::string, int> counts;
  co_await corewise::in_scope([&](scope& stages) -> task<> {
    const auto work = [&]() -> task<> {
      co_await capitalize(words, done, licences);
      workers.count_down();
    };
    stages.fork(read(lines, words));
    for (int i = 0; i < 4; ++i) stages.fork(work());
    stages.fork(close_behind(workers, done));
    co_await count(done, counts);
  });
  co_return counts;
}

} // namespace

int main() {
  corewise::engine engine;
  for (const auto& [word, times] : corewise::sync_wait(engine, count_words(1000)))
    if (times > 1000) std::printf("%s %d\n", word.c_str(), times);
}
