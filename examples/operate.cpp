// What an operator of a daemon needs from its engine: a profile in a file, a log, numbers, a look inside, a
// reload, an end.
#include <corewise/engine/engine.hpp>

#include <atomic>
#include <cstdio>
#include <semaphore>
#include <string>

using namespace std::chrono_literals;

namespace {

/// The profile that the daemon reads at its start, and again when it is told to. From a file:
/// `corewise::load_profile(path)`.
corewise::profile read_profile(const char* spin) {
  return corewise::parse_profile(std::string("name: front\n"
                                             "idle: {spin: ") +
                                 spin + "}\non_exception: report\n");
}

} // namespace

int main() {
  std::atomic<int> reports{0}; // what tasks use outlives the engine: it is declared before it
  std::binary_semaphore begun{0};
  std::binary_semaphore open{0};
  corewise::engine_hooks hooks;
  hooks.log = [&](std::string_view) { ++reports; }; // silent by default
  corewise::engine engine(read_profile("20us"), hooks);

  // A wrong profile gives an error that says where and what, all of it at once.
  try {
    read_profile("fast");
  } catch (const corewise::profile_error& error) {
    std::printf("%s\n", error.what());
  }

  // Applies another profile to the running engine: as a whole, or not at all, with the list of what needs a
  // restart.
  if (const corewise::apply_result result = engine.apply(read_profile("0us")); !result.applied())
    std::printf("%s", result.to_text().c_str());

  // An exception that leaves a task ends the process, unless the profile says `report`.
  if (engine.submit([] { throw std::runtime_error("a bad request"); }) != corewise::submit_result::accepted)
    return 1;
  engine.drain();
  const corewise::metrics_snapshot numbers = engine.metrics(); // to_text(), to_json()
  std::printf("%llu submitted, %llu failed, reported: %s\n",
              static_cast<unsigned long long>(numbers.submitted),
              static_cast<unsigned long long>(numbers.failed), reports > 0 ? "yes" : "no");

  // Shows what every worker does now, for a daemon that stands still.
  const auto stuck = engine.submit([&] { begun.release(), open.acquire(); });
  if (stuck != corewise::submit_result::accepted) return 1;
  begun.acquire();
  const corewise::engine_dump inside = engine.dump(); // to_text(), to_json()
  for (const corewise::seat_dump& seat : inside.seats)
    if (seat.state == corewise::seat_state::running) std::printf("a worker runs a task\n");

  // The end: the engine accepts nothing new, tasks may run until the deadline, and the report says what was
  // left.
  const corewise::shutdown_report late = engine.shutdown(0s);
  open.release();
  engine.drain(); // until that task, too, has ended: it uses what is declared above
  std::printf("%zu task still ran, %llu dropped\n", late.running.size(),
              static_cast<unsigned long long>(late.dropped));
  if (engine.submit([] {}) == corewise::submit_result::stopping) std::printf("stopped\n");
}
