#pragma once

#include <corewise/engine/engine.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <utility>

namespace corewise::bench {

/// One kind of operation whose instructions are counted.
struct kind {
  const char* name;
  const char* operation; ///< what one operation is, and which part of it counts
  std::uint32_t workers;
  std::uint64_t size;                             ///< so many operations, then twice as many
  void (*run)(engine&, std::uint64_t operations); ///< counts a multiple of `size`, checks that they were done
};

/// Checks a result: lost work would make operations look cheap.
inline void check(bool right) {
  if (right) return;
  std::fputs("instruction_counts: a result is wrong\n", stderr);
  std::_Exit(1);
}

template <class Task> void post(engine& e, Task&& t, const hint& wish = no_hint) {
  check(e.submit(std::forward<Task>(t), wish) == submit_result::accepted);
}

// local.cpp
extern const kind chained_spawn;
extern const kind spawn_many;
extern const kind spawn_hinted;
extern const kind spawn_labelled;
extern const kind scope_fork;
extern const kind short_blocking;
// coroutines.cpp
extern const kind yields;
extern const kind oneshot_round_trip;
extern const kind oneshot_halves;
extern const kind awaits;
extern const kind bound_value;
extern const kind when_all_of_two;
extern const kind channel_alone;
extern const kind channel_hand_over;
// outside.cpp
extern const kind outside_submitter;
extern const kind outside_worker;
extern const kind wake_submitter;
extern const kind wake_worker;
// steal.cpp
extern const kind steal;
// sockets.cpp, where there is io/
extern const kind write_and_read_in_place;

} // namespace corewise::bench
