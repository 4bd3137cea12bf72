#include "sweep.hpp"

#include "../streams.hpp"

#include <corewise/engine/engine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

namespace corewise::command {

namespace {

using clock = std::chrono::steady_clock;

/// The engine's profile for runs. Runs take seconds and never wait, so a worker that does nothing else for
/// long is no error.
profile suited() {
  profile p;
  p.blocking.stuck_after = std::nullopt;
  return p;
}

/// One line on standard error. The next line replaces it.
class progress_line {
 public:
  progress_line(bool enabled, std::uint64_t tasks) : enabled_(enabled), tasks_(tasks) {}
  ~progress_line() {
    if (shown_) print_aside("\r\033[K");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(std::size_t runs, std::size_t all_runs, std::uint64_t done) {
    if (!enabled_) return;
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(tasks_));
    const double so_far = std::chrono::duration<double>(clock::now() - begin_).count();
    const std::string left = share < 0.01 ? "" : fmt::format(", {:.0f} s left", so_far * (1 - share) / share);
    print_aside(fmt::format("\r{} of {} runs, {:.0f}%{}\033[K", runs, all_runs, 100 * share, left));
    shown_ = true;
  }

 private:
  bool enabled_;
  bool shown_ = false;
  std::uint64_t tasks_;
  clock::time_point begin_ = clock::now();
};

struct pending_run {
  std::unique_ptr<std::atomic<std::uint64_t>> ended; ///< tasks
  profile_runs* into;
  future<simulation_result> result;
};

/// The runs of a sweep that have begun. Its destructor stops the runs that have not ended.
class running_sweep {
 public:
  explicit running_sweep(const sweep& s) : sweep_(s), engine_(suited()) {}
  ~running_sweep() {
    stop_.store(true, std::memory_order_relaxed);
    engine_.drain();
  }
  running_sweep(const running_sweep&) = delete;
  running_sweep& operator=(const running_sweep&) = delete;

  void begin(const simulated_profile& p, const workload& w, std::uint64_t tasks, std::uint64_t seed,
             profile_runs& into) {
    all_tasks_ += tasks;
    auto ended = std::make_unique<std::atomic<std::uint64_t>>(0);
    const simulation_options options{.seed = seed,
                                     .tasks = tasks,
                                     .samples = sweep_.samples,
                                     .moments = sweep_.moments,
                                     .on_moment = sweep_.on_moment,
                                     .progress = ended.get(),
                                     .stop = &stop_};
    runs_.push_back({std::move(ended), &into, engine_.run([&p, &w, options] {
                       return simulate(p.configuration, *p.machine, w, options);
                     })});
  }

  /// Fills in the results, in the order in which the runs have begun.
  void finish() {
    constexpr std::chrono::milliseconds interval{200};
    progress_line line(sweep_.show_progress, all_tasks_);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      while (!runs_[i].result.wait_for(interval)) line.show(i, runs_.size(), ended_tasks());
      runs_[i].into->runs.push_back(runs_[i].result.get());
    }
  }

 private:
  std::uint64_t ended_tasks() const {
    std::uint64_t sum = 0;
    for (const pending_run& r : runs_) sum += r.ended->load(std::memory_order_relaxed);
    return sum;
  }

  const sweep& sweep_;
  std::atomic<bool> stop_{false};
  std::uint64_t all_tasks_ = 0; // of all runs
  std::vector<pending_run> runs_;
  engine engine_; // destroyed first
};

double capacity_of(const simulated_profile& p) { return p.machine->capacity(); }

/// Returns the workloads as all profiles meet them: a load is of the first profile's workers, and a rate where
/// others have more or fewer. It is rounded, for people to read and type it.
std::vector<workload> met_by_all(const sweep& s) {
  std::vector<workload> met = s.workloads;
  const double capacity = capacity_of(s.profiles.at(0));
  if (std::ranges::count(s.profiles, capacity, capacity_of) == std::ssize(s.profiles)) return met;
  for (workload& w : met) {
    w = with_rate(w, capacity);
    if (w.rate) w.rate = std::stod(fmt::format("{:.6g}", *w.rate));
  }
  return met;
}

/// Returns a report of each workload with all profiles, still without runs and machine.
std::vector<simulation_report> empty_reports(const sweep& s, const std::vector<workload>& met) {
  std::vector<simulation_report> reports;
  for (const workload& w : met) {
    simulation_report& report = reports.emplace_back();
    report.workload = describe(w);
    report.tasks = tasks_that_come(w, s.tasks);
    report.seeds = s.seeds;
    for (const simulated_profile& p : s.profiles) report.profiles.push_back({p.name, {}});
  }
  return reports;
}

/// Splits a report of all profiles into one for each machine, with the profiles on it.
std::vector<simulation_report> by_machine(simulation_report all, const sweep& s) {
  std::vector<simulation_report> split;
  for (std::size_t p = 0; p < s.profiles.size(); ++p) {
    const std::string machine = s.profiles[p].machine->machine->source();
    auto own = std::ranges::find(split, machine, &simulation_report::machine);
    if (own == split.end())
      own = split.insert(own, simulation_report{machine, all.workload, all.tasks, all.seeds, {}});
    own->profiles.push_back(std::move(all.profiles[p]));
  }
  return split;
}

} // namespace

std::vector<simulation_report> run_sweep(const sweep& s) {
  const std::vector<workload> met = met_by_all(s);
  std::vector<simulation_report> all = empty_reports(s, met);
  running_sweep running(s);
  for (std::size_t w = 0; w < met.size(); ++w)
    for (std::size_t p = 0; p < s.profiles.size(); ++p)
      for (const std::uint64_t seed : s.seeds)
        running.begin(s.profiles[p], met[w], all[w].tasks, seed, all[w].profiles[p]);
  running.finish();
  std::vector<simulation_report> reports;
  for (simulation_report& r : all)
    for (simulation_report& own : by_machine(std::move(r), s)) reports.push_back(std::move(own));
  return reports;
}

} // namespace corewise::command
