// What each thread does, for https://ui.perfetto.dev: a trace of 50 ms, and what came before a task that does not end.
//
//     trace [FOLDER]
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>

using namespace std::chrono_literals;

namespace {

/// What the daemon does all day.
corewise::task<> serve(corewise::engine& engine) {
  while (!engine.stop_token().stop_requested()) {
    co_await corewise::sleep_for(1ms);
    static_cast<void>(engine.submit([] {}, {.name = "request"}));
  }
}

void write(const std::string& file, const corewise::engine_trace& trace) {
  std::ofstream(file, std::ios::binary) << trace.to_perfetto();
}

} // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "/tmp";
  corewise::profile profile;
  profile.debug.flight_recorder = true;
  profile.blocking.stuck_after = 50ms;

  std::atomic<bool> reported{false};
  corewise::engine_hooks hooks;
  hooks.on_stuck_trace = [&](const corewise::engine_trace& before) {
    write(folder + "/stuck.perfetto", before);
    reported = true;
    reported.notify_all();
  };
  corewise::engine engine(profile, hooks);
  static_cast<void>(engine.submit(serve(engine), {.daemon = true}));

  const corewise::engine_trace trace = engine.trace(500ms);
  write(folder + "/daemon.perfetto", trace);
  std::printf("it has requests: %s\n", trace.events.empty() ? "no" : "yes");

  engine.run([&] { reported.wait(false); }, {.name = "does not end"}).get();
  std::printf("the stuck task was traced\n");
}
