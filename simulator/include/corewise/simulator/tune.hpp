#pragma once

#include <corewise/engine/engine.hpp>
#include <corewise/engine/profile.hpp>
#include <corewise/simulator/simulation.hpp>
#include <corewise/simulator/workload.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// Tuning: a search for the numbers of a profile that suit a machine and its work, and a judgement of what was found on
/// runs that the search has not seen. docs/tuning.md has the reasons.
namespace corewise {

enum class tuning_goal : std::uint8_t {
  p99,        ///< the least 99th percentile of the response time
  throughput, ///< the most tasks a second
  energy,     ///< the least energy per task, with a 99th percentile at most a tenth worse than before
};

/// What a run of a workload costs; less is better of each.
struct tuning_figures {
  double p99_ns = 0;
  double ns_per_task = 0; ///< of time that passes, all workers together
  double joules_per_task = 0;

  double of(tuning_goal goal) const noexcept;
};

/// Runs a workload, by its number, under a profile. The same arguments must give the same figures. Called by several
/// threads at once.
using tuning_objective =
    std::function<tuning_figures(const profile&, std::size_t workload, std::uint64_t seed)>;

/// The objective of the simulator. `p` describes the machine, `tasks` is the length of a run. Throws as
/// `simulated_machine` does.
tuning_objective simulated_objective(const profile& p, std::vector<workload> workloads, std::uint64_t tasks);

/// A field of a profile that is searched: a number between two bounds by its logarithm, or one of a few choices.
struct tuned_field {
  std::string key;             ///< "dispatch.spill.same_node"
  std::vector<double> choices; ///< empty: a number
  double least = 0;            ///< of a number
  double most = 0;
  bool whole = false; ///< of a number, which otherwise has two digits that count
  double (*read)(const profile&) = nullptr;
  void (*write)(profile&, double) = nullptr;

  /// A value as it stands in a profile.
  std::string text(double value) const;
};

/// What there is to search on a machine under a profile: what neither of them gives a meaning is left out, such as what it
/// costs to cross packages where there is one, or the score where there is one kind of core. The bounds hold what `p` has.
std::vector<tuned_field> tuned_fields(const profile& p, const topology& machine);

/// `p` with these values in these fields, made such that distance never costs less than nearness, and that what is
/// sent to another package is not stolen straight back (`check_profile`).
profile with_values(const profile& p, std::span<const tuned_field> fields, std::span<const double> values);

/// The defaults on the machine of `p`, which also keeps what `p` says of workers.
profile defaults_beside(const profile& p);

/// How the runs under one profile compare with those under another on the same seeds: ratios of the goal's figures.
struct tuning_comparison {
  double ratio = 1; ///< geometric mean; below 1 is a gain
  double low = 1;   ///< where the true one is with 99% certainty
  double high = 1;
  double median = 1;
  bool beyond_luck = false; ///< a gain of more than 1% that luck does not explain

  /// A gain that luck does not explain, however small.
  bool certain() const noexcept { return high < 1; }

  double gain_percent() const noexcept { return 100 * (1 - ratio); }
};

/// Of independent pairs of runs, from the logarithms of their ratios: Student's interval of the mean. Beyond luck is what
/// ends below 1 with its interval, and has a median below 0.99. If neither profile is better, exchanging them changes
/// nothing, so the logarithms are as likely above 0 as below, and one claim in 200 is false. Source: Student, "The probable
/// error of a mean", doi:10.1093/biomet/6.1.1. Throws `std::invalid_argument` for fewer than two.
tuning_comparison compare(std::span<const double> log_ratios);

struct tuning_options {
  tuning_goal goal = tuning_goal::p99;
  std::size_t workloads = 1;
  std::uint64_t first_seed = 1;     ///< the seeds searched on come first, then those held out
  std::uint32_t seeds = 8;          ///< to search on
  std::uint32_t held_out = 20;      ///< to judge on, at least 2
  std::uint32_t evaluations = 1000; ///< profiles to try at most
  std::chrono::nanoseconds budget = std::chrono::hours{24 * 365}; ///< about so long, with the judgement

  /// What the figures rest on besides; sentences that are told with the findings.
  std::vector<std::string> assumed = {};
  /// Called now and then: profiles tried, and the best mean ratio so far. May be empty.
  std::function<void(std::uint32_t evaluations, double best)> progress = {};
};

/// What tuning found.
struct tuning_result {
  profile tuned;       ///< what to use: `start` where nothing was gained
  bool gained = false; ///< over the start, beyond luck
  /// What the search liked best, which is `tuned` if that gained; of each field the value before and after.
  profile candidate;
  struct change {
    tuned_field field;
    double before;
    double after;
  };
  std::vector<change> changes; ///< all that was searched, in the order of a profile

  double searched_ratio = 1;      ///< candidate / start on the seeds that were searched on, which flatters
  tuning_comparison over_start;   ///< the candidate's, on the seeds held out
  tuning_comparison over_default; ///< the same
  std::vector<tuning_comparison> by_workload; ///< over the start
  tuning_comparison p99_over_start; ///< what the candidate did to the 99th percentile, whatever the goal
  bool p99_kept = true;             ///< energy: nowhere more than a tenth worse, with 99% certainty

  std::uint32_t evaluations = 0; ///< profiles tried
  bool exhausted = false;        ///< the search ended by itself, before its budget did
};

/// Searches from `start`, in `fields`, on `e`, whose workers run the objective. With the same arguments and enough budget
/// in time it finds the same. Throws what the objective throws, `std::invalid_argument` for a `start` with errors, and
/// `std::runtime_error` where a run has no figures to compare.
tuning_result tune(engine& e, const profile& start, std::vector<tuned_field> fields,
                   const tuning_objective& objective, const tuning_options& options);

/// Who asked for what, as the comment of a tuned profile tells it. Texts are made fit for a comment.
struct tuning_story {
  std::string machine;
  std::string start; ///< the profile that it began with
  std::vector<std::string> workloads;
  std::string command; ///< that does it again
  std::uint64_t tasks = 0;
};

/// What was found, in lines for people: what is gained and how much of that may be luck, or that nothing is, or too little
/// for a change; then what was assumed.
std::vector<std::string> findings(const tuning_result& r, const tuning_options& options);
/// The profile to use, as YAML with all that in comments. `file` is the start as its author wrote it, without the machine
/// that was put in.
std::string tuned_profile_text(const tuning_result& r, const profile& file, const tuning_options& options,
                               const tuning_story& story);

} // namespace corewise
