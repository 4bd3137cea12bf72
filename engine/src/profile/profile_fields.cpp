#include "profile_fields.hpp"

#include "profile_rows.hpp"

#include <corewise/policies/policy.hpp>
#include <corewise/policies/steal_policy.hpp>
#include <corewise/topology/detail/made_once.hpp>

#include <algorithm>
#include <csignal>
#include <iterator>

namespace corewise::detail {

namespace {

using namespace std::chrono_literals;

rows head() {
  return {
      with(integer_field<profile>("version", COREWISE_AT(version), integers(1, 1)), restart,
           {.description = "The version of this format"}),
      with(text_field<profile>("name", COREWISE_AT(name), texts(64)), live,
           {.description = "The name of the profile. Threads, the log, and the file of `sharing` keep the "
                           "one that an engine was "
                           "made with"}),
  };
}

rows engines() {
  return {
      with(choice_field<profile, machine_part>("engines.per", COREWISE_AT(engines.per),
                                               {{"machine", machine_part::machine},
                                                {"package", machine_part::package},
                                                {"node", machine_part::node}}),
           restart,
           {.description =
                "How many engines an `engine_set` makes: one, one for each package (socket), or one for each "
                "NUMA node that has CPUs. Each has the rest of the profile, and its part's number behind "
                "the name; a program that makes one `engine` gets all of the machine in it, and a warning"}),
  };
}

row sharing_file() {
  return make_field<profile>(
      "sharing.file", texts(4000),
      [](profile& p, const element&, const setting& v) { p.sharing.file = std::get<std::string>(v); },
      [](const profile& p, const auto& visit) {
        if (!p.sharing.file.empty()) visit({}, p.sharing.file);
      });
}

rows sharing() {
  return {
      with(sharing_file(), restart,
           {.description =
                "A file, by its full path, with which daemons agree to share this machine: each takes its "
                "part of the cores that it and others may use, and takes more when another one ends or "
                "crashes. All must name the same file, of mode 0600 or 0660",
            .default_text = "the machine is not shared"}),
      with(integer_field<profile>("sharing.weight", COREWISE_AT(sharing.weight), integers(1, 10'000)), live,
           {.unit = "parts",
            .description =
                "The weight of this engine's share of the cores, beside the weights of the others"}),
  };
}

rows workers() {
  return {
      with(optional_integer_field<profile>("workers.per_group", COREWISE_AT(workers.per_group),
                                           integers(1, 4096, {"auto"})),
           live,
           {.unit = "workers",
            .description = "The number of workers in each group; its cores get them in turn. `auto`: one for "
                           "each core or CPU (see `smt`), but in all no more than the CPU quota",
            .note = "a running engine can take fewer workers, and again more, up to the number with which "
                    "the group began and its part of `workers.headroom`"}),
      with(optional_integer_field<profile>("workers.headroom", COREWISE_AT(workers.headroom),
                                           integers(0, 4096, {"auto"})),
           restart,
           {.unit = "workers",
            .description =
                "The number of workers that may come later, when a CPU quota grows or a profile asks "
                "for more. Each has a thread from the start, which sleeps. `auto`: where a quota gives "
                "fewer workers than there are cores, up to three for each; else none. "
                "A smaller number than that of `auto` gives as many as `auto`, and 0 gives none",
            .note =
                "CPUs that the process was not allowed to use at the start get no worker before a restart"}),
      with(choice_field<profile, pin_to>("workers.pin", COREWISE_AT(workers.pin),
                                         {{"auto", pin_to::automatic},
                                          {"core", pin_to::core},
                                          {"group", pin_to::group},
                                          {"node", pin_to::node},
                                          {"none", pin_to::none}}),
           restart,
           {.description = "The CPUs to which worker threads are pinned; `auto` is the group, and the kernel "
                           "balances the threads inside it"}),
      with(choice_field<profile, memory_on>("workers.memory", COREWISE_AT(workers.memory),
                                            {{"node", memory_on::node}, {"anywhere", memory_on::anywhere}}),
           restart,
           {.description =
                "The origin of a worker's memory: its own NUMA node, or the nearest that has memory; or "
                "any node"}),
  };
}

/// Makes the field of a choice among the policies that exist.
row policy_choice(const char* key, auto at, const std::vector<std::string_view>& names) {
  return text_field<profile>(key, at, one_of({names.begin(), names.end()}));
}

rows dispatch() {
  const auto spill = [](const char* key, auto at, const char* where) {
    return with(number_field<profile>(std::string("dispatch.spill.") + key, at, numbers(0, 1'000'000)), live,
                {.unit = "tasks", .description = std::string("The cost of sending a task to ") + where});
  };
  return {
      with(policy_choice("dispatch.policy", COREWISE_AT(dispatch.policy), policy_names()), live,
           {.description =
                "The rule that chooses a worker for a task: the cheapest worker, where distance "
                "has a cost (`nearest_lightest`); the worker with the fewest queued tasks "
                "(`lightest`); the lighter of two workers drawn at random (`two_choices`); the "
                "worker that was least active recently (`activity`); the submitting worker itself, "
                "or the injection queue for a task from outside (`local_first`); always the "
                "injection queue (`global_queue`); each worker in turn (`round_robin`); a worker "
                "drawn at random (`random`). Only `nearest_lightest` uses `score` and `spill`"}),
      with(choice_field<profile, score_kind>("dispatch.score", COREWISE_AT(dispatch.weights.score),
                                             {{"expected_delay", score_kind::expected_delay},
                                              {"drain_time", score_kind::drain_time},
                                              {"count", score_kind::count}}),
           live,
           {.description = "The score of a worker: (load + 1) × 1024 / capacity, load × 1024 / capacity, or "
                           "the load alone"}),
      spill("same_domain", COREWISE_AT(dispatch.weights.spill.same_domain), "another worker of its domain"),
      spill("same_node", COREWISE_AT(dispatch.weights.spill.same_node), "another domain of its NUMA node"),
      spill("same_package", COREWISE_AT(dispatch.weights.spill.same_package),
            "another NUMA node of its package"),
      spill("cross_package", COREWISE_AT(dispatch.weights.spill.cross_package),
            "another package; at least 2 × `steal.minimum_at.cross_package`"),
  };
}

rows steal() {
  const auto minimum = [](const char* key, auto at, const char* where, const char* most = "") {
    return with(
        integer_field<profile>(std::string("steal.minimum_at.") + key, at, integers(1, 1'000'000)), live,
        {.unit = "tasks",
         .description = std::string("How many tasks of 50 us must wait before a worker ") + where +
                        " comes for them; of longer ones fewer, while all workers there have work" + most});
  };
  return {
      with(policy_choice("steal.policy", COREWISE_AT(steal.policy), steal_policy_names()), live,
           {.description =
                "The rule that chooses the victim of a worker without work; the worker takes half of the "
                "victim's queue. First workers on slower cores of its domain, then on equal ones, then "
                "outward (`nearest_half`); by number, from a worker drawn at random on (`random_half`); the "
                "worker that was most active recently (`hottest_half`); no victim (`none`)"}),
      with(choice_field<profile, steal_start>(
               "steal.start", COREWISE_AT(steal.start),
               {{"nearest", steal_start::nearest}, {"random", steal_start::random}}),
           live,
           {.description = "The point at which `nearest_half` begins its search: near the worker itself, or "
                           "anywhere, as `random_half` does"}),
      with(integer_field<profile>("steal.batch_max", COREWISE_AT(steal.batch_max), integers(1, 65536)), live,
           {.unit = "tasks", .description = "The most tasks that one steal takes"}),
      minimum("same_node", COREWISE_AT(steal.minimum_at.same_node), "from another domain of the NUMA node",
              ". At most `same_package` counts"),
      minimum("same_package", COREWISE_AT(steal.minimum_at.same_package),
              "from another NUMA node of the package", ". At most `cross_package` counts"),
      minimum("cross_package", COREWISE_AT(steal.minimum_at.cross_package), "from another package"),
  };
}

row park_timeout() {
  using mode = park_timeout_setting::mode;
  return mode_field<profile, mode>("idle.park_timeout", COREWISE_AT(idle.park_timeout), durations(100us, 1h),
                                   {{"adaptive", mode::adaptive}, {"never", mode::never}});
}

rows idle() {
  return {
      with(integer_field<profile>("idle.searchers_per_mille", COREWISE_AT(idle.searchers_per_mille),
                                  integers(1, 1000)),
           live,
           {.unit = "‰ of workers",
            .description = "The share of a domain's workers that may search for work at the same time"}),
      with(duration_field<profile>("idle.spin", COREWISE_AT(idle.spin), durations(0us, 100ms)), live,
           {.description = "The time for which a worker without work searches before it sleeps"}),
      with(choice_field<profile, wake_order>(
               "idle.wake", COREWISE_AT(idle.wake),
               {{"nearest", wake_order::nearest}, {"lowest", wake_order::lowest}}),
           live,
           {.description =
                "The sleeper that is woken: the one nearest to the work, or the one with the lowest number"}),
      with(park_timeout(), live,
           {.description =
                "The time after which a sleeper wakes up by itself and looks for work: `adaptive` (the "
                "supervisor looks instead, once a second), a fixed time for every sleeper, or `never`"}),
  };
}

rows blocking() {
  return {
      with(
          integer_field<profile>("blocking.spares_max", COREWISE_AT(blocking.spares_max), integers(0, 65536)),
          live,
          {.unit = "threads",
           .description = "The most threads beside the workers; they take over seats while tasks block"}),
      with(duration_field<profile>("blocking.keep_alive", COREWISE_AT(blocking.keep_alive),
                                   durations(0us, 24h)),
           live, {.description = "The time after which an unused spare thread ends"}),
      with(optional_duration_field<profile>("blocking.stuck_after", COREWISE_AT(blocking.stuck_after),
                                            durations(1ms, 24h)),
           live,
           {.description =
                "A task that runs this long outside `blocking` is reported, with its kind and its worker"}),
      with(integer_field<profile>("blocking.max_concurrent", COREWISE_AT(blocking.max_concurrent),
                                  integers(0, 1'000'000)),
           live,
           {.unit = "calls",
            .description = "The most calls of `blocking` and `run_blocking` that run at once; a coroutine in "
                           "excess waits suspended; 0: no limit",
            .note = "a call that began while there was no limit is not counted"}),
      with(choice_field<profile, excess_action>(
               "blocking.on_full", COREWISE_AT(blocking.on_full),
               {{"wait", excess_action::wait}, {"throw", excess_action::refuse}}),
           live,
           {.description = "The fate of a plain `blocking` call at that limit: it waits on its thread, or "
                           "throws `blocking_full`"}),
  };
}

rows io() {
  return {
      with(integer_field<profile>("io.batch", COREWISE_AT(io.batch), integers(1, 1024)), live,
           {.unit = "events",
            .description = "The most events that a worker takes from its group's sockets at a time"}),
  };
}

rows limits() {
  return {
      with(integer_field<profile>("limits.in_flight", COREWISE_AT(limits.in_flight),
                                  integers(0, 1'000'000'000'000)),
           live,
           {.unit = "tasks",
            .description = "The most tasks that may be submitted and not finished; 0: no limit",
            .note = "an engine that began without a limit does not count its tasks, and needs a restart to "
                    "get a limit"}),
      with(choice_field<profile, full_action>("limits.on_full", COREWISE_AT(limits.on_full),
                                              {{"reject", full_action::reject}, {"wait", full_action::wait}}),
           live,
           {.description = "The fate of a submission at that limit: the engine refuses it, or the submitter "
                           "waits for room"}),
  };
}

constinit const made_once<word_list<int>> signal_words([] {
  return word_list<int>{{"SIGPROF", SIGPROF}, {"SIGURG", SIGURG}, {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}};
});

row stack_signal() {
  value_rule rule = integers(34, 64);
  rule.words = {"none"};
  for (const auto& [word, number] : signal_words.get()) rule.words.push_back(word);
  return make_field<profile>(
      "debug.stack_signal", std::move(rule),
      [](profile& p, const element&, const setting& v) {
        p.debug.stack_signal.reset();
        if (const auto* n = std::get_if<std::uint64_t>(&v)) p.debug.stack_signal = static_cast<int>(*n);
        for (const auto& [word, number] : signal_words.get())
          if (v == setting(word)) p.debug.stack_signal = number;
      },
      [](const profile& p, const auto& visit) {
        if (!p.debug.stack_signal) return visit({}, "none");
        for (const auto& [word, number] : signal_words.get())
          if (number == *p.debug.stack_signal) return visit({}, word);
        visit({}, static_cast<std::uint64_t>(*p.debug.stack_signal));
      });
}

rows debug() {
  return {
      with(stack_signal(), restart,
           {.unit = "signal number",
            .description =
                "The signal with which the supervisor asks a stuck worker for its stack; the report shows "
                "the stack. The process then has a handler for this signal; 34 to 64 are real-time signals",
            .note = "the signal may interrupt system calls of tasks"}),
      with(choice_field<profile, thread_naming>(
               "debug.thread_names", COREWISE_AT(debug.thread_names),
               {{"group", thread_naming::group}, {"worker", thread_naming::worker}}),
           restart,
           {.description = "The names of the threads: one for each group, `NAME/g0`, so that tools add its "
                           "threads up, or one for each worker, `NAME/g0w3`; NAME is the profile's name"}),
      with(flag_field<profile>("debug.flight_recorder", COREWISE_AT(debug.flight_recorder)), restart,
           {.description =
                "Whether all threads record what they do all the time, so that the report of a stuck worker "
                "comes with what happened before (docs/traces.md)",
            .note = "costs each task 60 to 140 ns, and each thread 256 KB"}),
  };
}

rows tail() {
  return {
      with(choice_field<profile, exception_action>(
               "on_exception", COREWISE_AT(on_exception),
               {{"terminate", exception_action::terminate}, {"report", exception_action::report}}),
           live,
           {.description =
                "The effect of an exception that leaves a task: it ends the process, or it is reported"}),
      with(flag_field<profile>("strict", COREWISE_AT(strict)), restart,
           {.description =
                "Whether a request that the machine cannot fulfil is an error instead of a warning"}),
  };
}

rows make_table() {
  rows table;
  for (rows section :
       {head(), source_fields<profile>("topology.", COREWISE_AT(topology.machine.source)), topology_rows(),
        kind_fields<profile>("topology.", COREWISE_AT(topology.machine)),
        rows{distance_field<profile>("topology.", COREWISE_AT(topology.machine))}, engines(), sharing(),
        workers(), dispatch(), steal(), queue_rows(), idle(), blocking(), io(), limits(), debug(), tail()})
    std::ranges::move(section, std::back_inserter(table));
  return table;
}

constinit const made_once<rows> profile_table(&make_table);

} // namespace

const field_table<profile>& profile_fields() { return profile_table.get(); }

} // namespace corewise::detail
