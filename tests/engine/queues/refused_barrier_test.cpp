#include "child_process.hpp"
#include "queues/sole_taker.hpp"
#include "small_engine.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <thread>

// Kernels that refuse a barrier, as old kernels and those of sandboxes do. By that barrier other threads come
// to take the tasks that an engine of one worker has queued (sole_taker.hpp).

using namespace corewise;
using namespace std::chrono_literals;

namespace {

/// Returns false if this kernel filters no system calls.
bool refuse_barrier(int command) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
               offsetof(seccomp_data, args)), // the lower half of the first argument: little-endian
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(command), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1), // EPERM
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int cannot_tell = 77;

/// Runs `wrong` in a process to which the kernel refuses that command. Returns its exit status.
template <class F> int wrong_without(int command, const F& wrong) {
  const int answer = tests::exit_status(tests::child_that([&] {
    ::alarm(60);
    std::_Exit(refuse_barrier(command) ? wrong() : cannot_tell);
  }));
  if (answer != cannot_tell) return answer;
  MESSAGE("skipped: this kernel filters no system calls, or has no such barrier");
  return 0;
}

struct ending {
  std::uint64_t dropped; // by `shutdown`, while the task runs that has submitted ten tasks
  int runs;              // how many of the ten ran
  long held;             // how many of the ten are left when the worker has left
};

/// Ends an engine whose only worker is in a task that has submitted others into its slot and its ring.
ending end_in_a_task() {
  auto held = std::make_shared<gate>();
  auto token = std::make_shared<int>(1);
  std::atomic<int> runs{0};
  ending answer{};
  {
    engine e(small_profile(1));
    const auto submit = [&] {
      for (int i = 0; i < 10; ++i) static_cast<void>(e.submit([&runs, token] { runs.fetch_add(1); }));
    };
    static_cast<void>(e.submit([&submit, held] {
      submit();
      held->pass();
    }));
    held->wait_for(1);
    answer.dropped = e.shutdown(5ms).dropped;
  }
  held->open();
  while (held.use_count() > 1) std::this_thread::yield();
  for (int i = 0; i < 1000 && token.use_count() > 1; ++i) std::this_thread::sleep_for(10ms);
  answer.runs = runs;
  answer.held = token.use_count() - 1;
  return answer;
}

} // namespace

TEST_CASE("refused barrier: on a kernel without the barrier every taker uses locked instructions from the "
          "beginning") {
  CHECK(wrong_without(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, [] {
          const detail::sole_taker takers(true);
          const ending e = end_in_a_task();
          return int{takers.alone()} + 2 * int{e.dropped != 10} + 4 * int{e.runs != 0} + 8 * int{e.held != 0};
        }) == 0);
}

TEST_CASE(
    "refused barrier: if the kernel refuses it later, queued tasks are dropped after the worker has left") {
  CHECK(wrong_without(MEMBARRIER_CMD_PRIVATE_EXPEDITED, [] {
          detail::sole_taker takers(true);
          if (!takers.alone()) return cannot_tell;
          const bool shared = takers.share() || takers.shared() || takers.enter();
          const ending e = end_in_a_task();
          return int{shared} + 2 * int{e.dropped != 0} + 4 * int{e.runs != 0} + 8 * int{e.held != 0};
        }) == 0);
}
