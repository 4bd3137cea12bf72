// Time: tasks that sleep without a thread, a call later, a call at every beat, and a wait that gives up.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>

#include <atomic>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

/// Returns the answer after a while, in which no thread waits.
corewise::task<int> ask(int question) {
  co_await corewise::sleep_for(1ms * question);
  co_return question* question;
}

corewise::task<> session(int client, std::atomic<int>& answers) { answers += co_await ask(client); }

/// Waits for a day, unless it is told to stop.
corewise::task<> patient(std::stop_token stop, std::atomic<int>& gave_up) {
  const bool came = co_await corewise::sleep_for(24h, stop);
  if (!came) ++gave_up;
}

} // namespace

int main() {
  std::atomic<int> answers{0};
  std::atomic<int> gave_up{0};
  std::atomic<int> beats{0};
  std::stop_source deadline;
  corewise::engine engine; // behind what its tasks use, for it waits for their end

  // A thousand sessions sleep at the same time.
  for (int i = 0; i < 1000; ++i)
    if (engine.submit(session(i % 10, answers)) != corewise::submit_result::accepted) return 1;

  // Tidying at every beat. A beat that comes while the one before still runs is left out, and counted.
  corewise::timer tidying = engine.every(5ms, [&] {
    ++beats;
    beats.notify_all();
  });

  // A deadline: a task that asks its token gives up after 20 ms.
  const corewise::timer limit = engine.after(20ms, [&] { deadline.request_stop(); });
  for (int i = 0; i < 10; ++i)
    if (engine.submit(patient(deadline.get_token(), gave_up)) != corewise::submit_result::accepted) return 1;

  engine.drain(); // waits for sleeping tasks, not for calls that are not due
  for (int seen = beats; seen < 3; seen = beats) beats.wait(seen);
  const bool stopped = tidying.cancel();

  std::printf("answers %d, gave up %d, beats %s\n", answers.load(), gave_up.load(),
              stopped ? "3 or more" : "still coming");
  return answers == 28'500 && gave_up == 10 && stopped ? 0 : 1;
}
