#include "profile_rows.hpp"

#include <algorithm>
#include <iterator>

namespace corewise::detail {

namespace {

using namespace std::chrono_literals;

rows local_queues() {
  return {
      with(
          choice_field<profile, discipline>(
              "queues.discipline", COREWISE_AT(queues.discipline),
              {{"standard", discipline::standard}, {"volt", discipline::volt}, {"tokio", discipline::tokio}}),
          restart,
          {.description = "The order in which a worker takes its own tasks and shared ones: corewise's, or "
                          "that of a system from which corewise learned (docs/systems.md)"}),
      with(integer_field<profile>("queues.local", COREWISE_AT(queues.local), powers_of_two(2, 32768)),
           restart, {.unit = "tasks", .description = "The size of each worker's ring"}),
      with(text_field<profile>("queues.overflow", COREWISE_AT(queues.overflow), one_of({"half"})), restart,
           {.description = "The part of its tasks that a full ring sends to the injection queue"}),
      with(integer_field<profile>("queues.lifo_cap", COREWISE_AT(queues.lifo_cap), integers(0, 1000)), live,
           {.unit = "tasks",
            .description = "The most times in a row that the newest task may overtake waiting tasks; 0: no "
                           "LIFO slot. The discipline `volt` counts all tasks that run from the slot in a "
                           "tick, and `tokio` all that do so one after another"}),
      with(optional_duration_field<profile>("queues.lifo_age", COREWISE_AT(queues.lifo_age),
                                            durations(1us, 1s)),
           live,
           {.description = "The time after which other workers may take a waiting task from a LIFO slot"}),
      with(integer_field<profile>("queues.budget", COREWISE_AT(queues.budget), integers(1, 65536)), live,
           {.unit = "tasks",
            .description = "The most tasks in a tick; a tick also ends after 500 us, and then the worker "
                           "looks for shared work"}),
      with(optional_integer_field<profile>("queues.inbox", COREWISE_AT(queues.inbox),
                                           powers_of_two(2, 65536, {"unbounded"})),
           restart,
           {.unit = "tasks",
            .description = "The size of a worker's inbox, which holds the tasks that other threads send to "
                           "it; when it is full, they go to the injection queue. No worker can steal from an "
                           "unbounded inbox, so that needs `steal.policy: none`"}),
      with(optional_duration_field<profile>("queues.oldest_first", COREWISE_AT(queues.oldest_first),
                                            durations(1us, 1s)),
           live,
           {.description = "A worker whose tasks take this long on average takes the oldest task from the "
                           "inboxes of its whole group, not only from its own inbox"}),
  };
}

rows injection_interval() {
  const auto bound = [](const char* key, auto at, const char* which) {
    return with(
        integer_field<profile>(std::string("injection.interval.") + key, at, integers(1, 65535)), live,
        {.unit = "tasks",
         .description = std::string("The ") + which +
                        " number of own tasks that a worker runs between two looks at the injection queue",
         .form = "range"});
  };
  row fixed = make_field<profile>(
      "injection.interval.fixed", integers(1, 65535),
      [](profile& p, const element&, const setting& v) {
        const auto n = static_cast<std::uint32_t>(std::get<std::uint64_t>(v));
        p.injection.interval = {n, n};
      },
      [](const profile&, const auto&) {}); // shown as min and max
  return {
      bound("min", COREWISE_AT(injection.interval.min), "least"),
      bound("max", COREWISE_AT(injection.interval.max), "greatest"),
      with(std::move(fixed), live,
           {.unit = "tasks",
            .description = "A fixed number of own tasks between two looks, whatever the latency",
            .form = "fixed",
            .default_text = "adapts"}),
  };
}

rows injection() {
  return {
      with(choice_field<profile, injection_scope>("injection.scope", COREWISE_AT(injection.scope),
                                                  {{"group", injection_scope::group},
                                                   {"engine", injection_scope::engine},
                                                   {"none", injection_scope::none}}),
           restart,
           {.description = "The number of injection queues, which take the tasks that fit nowhere else: one "
                           "for each group, one for the engine, or none. With `none` the worker's own inbox "
                           "takes such tasks, so that needs `queues.inbox: unbounded`"}),
      with(duration_field<profile>("injection.target_latency", COREWISE_AT(injection.target_latency),
                                   durations(1us, 10s)),
           live,
           {.description = "The target for the time that a task waits in the injection queue; workers look "
                           "at the queue that often"}),
  };
}

rows injection_batch() {
  return {
      with(
          integer_field<profile>("injection.batch.min", COREWISE_AT(injection.batch.min), integers(1, 65536)),
          live,
          {.unit = "tasks", .description = "The least number of tasks that one look takes, if enough wait"}),
      with(
          integer_field<profile>("injection.batch.max", COREWISE_AT(injection.batch.max), integers(1, 65536)),
          live, {.unit = "tasks", .description = "The most tasks that one look takes"}),
  };
}

} // namespace

rows queue_rows() {
  rows table;
  for (rows part : {local_queues(), injection(), injection_interval(), injection_batch()})
    std::ranges::move(part, std::back_inserter(table));
  return table;
}

} // namespace corewise::detail
