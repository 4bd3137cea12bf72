#pragma once

#include <corewise/policies/task_class.hpp>
#include <corewise/simulator/random_stream.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

/// How long a task takes on the fastest kind, near its data.
struct service_time {
  enum class kind : std::uint8_t { fixed, exponential, lognormal, bimodal, pareto } shape = kind::exponential;
  double mean_ns = 10'000; ///< of all tasks; of bimodal the common one
  double deviation = 1;    ///< lognormal: standard deviation / mean
  double rare_ns = 0;      ///< bimodal: the rare one
  double rare_share = 0;   ///< bimodal: the share of rare tasks, 0..1
  double exponent = 2;     ///< Pareto: the tail's exponent, above 1

  /// The mean over all tasks, in ns.
  double mean() const noexcept;
  /// Draws a time in ns, at least 0. It always takes as many numbers from the stream, so that tasks keep
  /// their times under other profiles.
  double draw(random_stream& random) const noexcept;
};

/// The tasks that come, and their origin. `parse_workload` reads it from text; docs/simulation.md has the
/// words.
struct workload {
  enum class kind : std::uint8_t {
    poisson,    ///< independent arrivals
    mmpp,       ///< two rates in turn: bursts
    trace,      ///< arrivals from a file
    closed,     ///< clients, each of which waits for its task and thinks
    fork_join,  ///< trees that arrive independently; a node forks its children, a parent ends after them
    ping_pong,  ///< pairs of tasks that wake each other
    yield_ring, ///< tasks that yield until they have had their turns
  } shape = kind::poisson;
  std::string text; ///< as it was written, for reports
  service_time service;

  double load = 0.7;           ///< offered work / capacity of the machine, unless `rate` is given
  std::optional<double> rate;  ///< arrivals a second (poisson, mmpp, fork_join: trees)
  double burst_ratio = 4;      ///< mmpp: the high rate / the low rate
  double burst_share = 0.1;    ///< mmpp: the share of time at the high rate
  double burst_ns = 1'000'000; ///< mmpp: the mean length of a burst
  std::filesystem::path file;  ///< trace
  std::uint32_t clients = 64;  ///< closed
  service_time think{.shape = service_time::kind::exponential, .mean_ns = 100'000}; ///< closed
  std::uint32_t depth = 4;  ///< fork_join: levels below the root
  std::uint32_t fanout = 4; ///< fork_join
  std::uint32_t pairs = 1;  ///< ping_pong
  /// ping_pong: a task from outside spawns the pairs, each pair asks once and ends, and after the last one
  /// the next task comes. If false, the pairs are there from the beginning and never end.
  bool spawned = false;
  std::uint32_t tasks = 200; ///< yield_ring: tasks in it

  /// The submitter of tasks.
  enum class from : std::uint8_t {
    outside, ///< threads on CPUs drawn at random
    cpu,     ///< one thread, on `from_cpu`
    worker,  ///< workers drawn at random, each for itself
  } submitted = from::outside;
  std::uint32_t from_cpu = 0;
  /// Where a task's data lives.
  enum class data : std::uint8_t {
    none,      ///< the task runs as fast everywhere
    submitter, ///< on the node of the CPU that it is submitted from
    random,    ///< on a node drawn for each task; its hint says so only if `hinted`
    node,      ///< on `data_node`
  } homes = data::none;
  std::uint32_t data_node = 0; ///< index into `topology::nodes()`
  bool hinted = false;         ///< tasks say where their data is
  bool near_data = false;      ///< tasks come from a CPU of their data's node
  task_class run_as = task_class::normal;
  /// How many cache lines of each task come along to another worker: 1 of a closure, 2 to 4 of a coroutine's
  /// frame.
  std::uint32_t lines = 1;
};

/// A workload or a trace that cannot be used. `what()` has a line for each thing that is wrong.
class workload_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads "KIND,key=value,..." such as "poisson,load=.7,service=bimodal:10us:1ms:.005,data=random". Looks at
/// no files. Throws `workload_error` that names what was found and what would be right, the nearest word for
/// an unknown one.
workload parse_workload(std::string_view text);
/// Writes the workload as `workload::text` does, with the defaults that it left out. Reading the result gives
/// the same workload.
std::string describe(const workload& w);

/// One task that comes from outside of the simulation.
struct arrival {
  std::int64_t time_ns = 0;
  double service_ns = 0; ///< fork_join: the root's
  std::optional<std::uint32_t>
      node; ///< where its data is (index into `topology::nodes()`), if the trace says so
  std::optional<task_class> run_as; ///< if the trace says so
};

/// Open arrivals, one after another in the order of time: of poisson, mmpp, trace and fork_join; the other
/// kinds have none. Deterministic from a seed: the times are the same whatever the services, and the other
/// way round. Reads a trace as it goes, so memory does not grow with it. One thread at a time.
///
/// A trace has lines of `time_ns,service_ns[,node][,class]`, times ascending. The stream skips empty lines,
/// comments after `#` and a first line of names.
class arrival_stream {
 public:
  /// Begins a stream. `capacity` is that of the machine, in workers of the fastest kind; it turns `load` into
  /// a rate. Throws `workload_error` if the trace cannot be read, or has no arrivals, or if bursts are so
  /// short that the rate changes more than 1000 times between two arrivals.
  arrival_stream(const workload& w, double capacity, std::uint64_t seed);
  ~arrival_stream();
  arrival_stream(arrival_stream&&) noexcept;
  arrival_stream& operator=(arrival_stream&&) noexcept;
  /// The next arrival; nothing after a trace's last. Throws `workload_error` that names file and line.
  std::optional<arrival> next();
  /// The arrivals a second, averaged over time, that `load` or `rate` ask for; 0 where they do not count.
  double rate() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns how many tasks come, `most` at most: a trace ends. Cost: reading it so far, so the file must be one that can be
/// read again. Throws as `arrival_stream`.
std::uint64_t tasks_that_come(const workload& w, std::uint64_t most);

/// Returns the workload with the rate that its load asks for on a machine of that capacity. Machines of other
/// capacities then meet the same arrivals. Changes nothing where load does not count.
workload with_rate(workload w, double capacity);

/// How much work one arrival brings on average, in ns on the fastest kind; for fork_join that of a whole
/// tree. Returns 0 for a trace, whose mean only reading it would tell.
double mean_work_ns(const workload& w) noexcept;

} // namespace corewise
