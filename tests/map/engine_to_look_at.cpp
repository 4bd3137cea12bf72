// An engine for a browser, whose names are not harmless: engine_to_look_at PORT SOCKET. It works on three
// workers of a described machine with two sockets. One of them runs a task that does not end.
#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

corewise::task<> day(corewise::engine& e) {
  for (;;) {
    co_await corewise::sleep_for(5ms);
    static_cast<void>(e.submit([] { std::this_thread::sleep_for(1ms); }));
  }
}

void never_end() {
  for (;;) std::this_thread::sleep_for(1h); // outside `blocking`
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  corewise::profile p;
  p.topology.machine.source = corewise::synthetic_source{"pack:2 numa:1 core:2 pu:1"};
  p.topology.machine.kinds = {{corewise::cpu_set::range(0, 3), "<script>seen = 1</script>", 1024}};
  p.workers.total = 3;
  p.workers.pin = corewise::pin_to::none;
  p.blocking.stuck_after = 100ms;
  corewise::engine e(p);
  corewise::admin::options o;
  o.read_only = std::string("127.0.0.1:") + argv[1];
  o.control = argv[2];
  const corewise::admin::server server(e, o);
  static_cast<void>(e.submit(day(e), {.daemon = true}));
  static_cast<void>(e.submit(never_end, {.name = "<script>seen = 1</script>"}));
  std::printf("%u\n", server.port());
  std::fflush(stdout);
  for (;;) ::pause(); // until it is killed
}
