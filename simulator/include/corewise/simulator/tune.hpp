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

/// Tuning: a search for the numbers of a profile that suit a machine and its work, and a judgement of the
/// found profile on runs that the search has not seen. docs/tuning.md has the reasons.
namespace corewise {

enum class tuning_goal : std::uint8_t {
  p99,        ///< the least 99th percentile of the response time
  throughput, ///< the most tasks a second
  energy,     ///< the least energy per task, with a 99th percentile at most a tenth worse than before
};

/// The costs of a run of a workload; less is better of each.
struct tuning_figures {
  double p99_ns = 0;
  double ns_per_task = 0; ///< of time that passes, all workers together
  double joules_per_task = 0;
  // Costs that no goal counts, but a user pays.
  double awake_share = 0;       ///< of the workers' time: awake without a task
  double wake_ups_per_task = 0; ///< of sleeping workers

  double of(tuning_goal goal) const noexcept;
};

/// Runs a workload, by its number, under a profile. The same arguments must give the same figures. Several
/// threads call it at once.
using tuning_objective =
    std::function<tuning_figures(const profile&, std::size_t workload, std::uint64_t seed)>;

/// The objective of the simulator. `p` describes the machine, `tasks` is the length of a run. A load is of the
/// workers of `p`: profiles with more workers meet the same tasks. Throws as `simulated_machine` does.
tuning_objective simulated_objective(const profile& p, std::vector<workload> workloads, std::uint64_t tasks);

/// A field of a profile that is searched: a number between two bounds by its logarithm, or one of a few
/// choices.
struct tuned_field {
  std::string key;             ///< "dispatch.spill.same_node"
  std::vector<double> choices; ///< empty: a number
  double least = 0;            ///< of a number
  double most = 0;
  bool whole = false; ///< of a number, which otherwise has two digits that count
  double (*read)(const profile&) = nullptr;
  void (*write)(profile&, double) = nullptr;
  std::string (*name)(double) = nullptr; ///< of a value; null: the number itself

  /// A value as it stands in a profile.
  std::string text(double value) const;
};

/// The fields to search on a machine under a profile. It leaves out a field to which neither of them gives a
/// meaning, such as the cost of crossing packages where there is one package, or the score where there is one
/// kind of core. Where `p` gives the number of workers, it leaves out the fields that divide the workers
/// otherwise. The bounds and the choices hold the values of `p`.
std::vector<tuned_field> tuned_fields(const profile& p, const topology& machine);

/// Returns `p` with these values in these fields, adjusted so that distance never costs less than nearness,
/// and that a task that was sent to another package is not stolen straight back (`check_profile`).
profile with_values(const profile& p, std::span<const tuned_field> fields, std::span<const double> values);

/// The defaults on the machine of `p`, with the workers that `p` asks for.
profile defaults_beside(const profile& p);

/// The profiles of `configs/` that describe a purpose, which the library contains: `default`, `latency`,
/// `throughput`, `hybrid`. Call from any thread. Cost: reading them, about 1 ms.
std::vector<profile> shipped_purposes();

/// Returns `p` with all that `purpose` says about dispatch, stealing, queues, injection, idle workers, groups
/// and `topology.smt`. Fields that the simulator does not model, or that bound memory, stay as in `p`: its name,
/// machine, workers, `queues.local`, a bounded `queues.inbox`, blocking, limits and the rest; and the groups
/// and `topology.smt` where `p` gives the number of workers.
profile with_purpose(const profile& p, const profile& purpose);

/// The runs under one profile compared with those under another on the same seeds: ratios of the goal's
/// figures.
struct tuning_comparison {
  double ratio = 1; ///< geometric mean; below 1 is a gain
  double low = 1;   ///< the true ratio is above this, and below `high`, with 99% certainty
  double high = 1;
  double median = 1;
  bool beyond_luck = false; ///< a gain of more than 0.5% that luck does not explain

  /// Returns whether there is a gain that luck does not explain, however small.
  bool certain() const noexcept { return high < 1; }

  double gain_percent() const noexcept { return 100 * (1 - ratio); }
};

/// Compares independent pairs of runs, given the logarithms of their ratios: Student's interval of the mean.
/// A gain is beyond luck if its interval ends below 1 and its median is below 0.995. If neither profile is
/// better, exchanging them changes nothing, so the logarithms are as likely above 0 as below, and one claim
/// in 200 is false. Source: Student, "The probable error of a mean", doi:10.1093/biomet/6.1.1.
///
/// `judged` is the number of profiles of which these runs have chosen the best. The interval is so much wider
/// that the certainty holds for all of them together (Bonferroni's inequality). Throws
/// `std::invalid_argument` for fewer than two pairs, or for no profile.
tuning_comparison compare(std::span<const double> log_ratios, std::size_t judged = 1);

struct tuning_options {
  tuning_goal goal = tuning_goal::p99;
  std::size_t workloads = 1;
  std::uint64_t first_seed = 1;     ///< the seeds to search on come first, then the held-out seeds
  std::uint32_t seeds = 8;          ///< to search on
  std::uint32_t held_out = 20;      ///< to judge on, at least 2
  std::uint32_t evaluations = 1000; ///< profiles to try at most, beside the start and the purposes
  std::chrono::nanoseconds budget = std::chrono::hours{24 * 365}; ///< about this long, with the judgement

  /// The profiles that the answer must not be worse than, such as `shipped_purposes`. The search goes on from
  /// the best of them and the start. Each is tried as `with_purpose` makes it, unless that has errors.
  std::vector<profile> purposes = {};

  /// The assumptions behind the figures: sentences that the findings repeat.
  std::vector<std::string> assumed = {};
  /// The assumption behind the energy, which the findings repeat where they tell energy; may be empty.
  std::string energy_assumed = {};
  /// Called before the search if the figures beside those of the search need more time than the budget. May be
  /// empty.
  std::function<void(std::chrono::nanoseconds needed)> over_budget = {};
  /// Called now and then with the number of tried profiles and the best mean ratio so far. May be empty.
  std::function<void(std::uint32_t evaluations, double best)> progress = {};
};

/// The result of tuning.
struct tuning_result {
  profile tuned;       ///< the profile to use: `start` where nothing was gained
  bool gained = false; ///< over the start, beyond luck
  /// The best profile on the held-out seeds, which is `tuned` if that gained: the one that the search found,
  /// or a purpose.
  profile candidate;
  std::string shipped; ///< the name of the purpose that the candidate is; empty: the search found it
  std::string basis;   ///< the name of the purpose that the search changed to find it; empty: the start
  /// For each searched field the value of the start and of the candidate.
  struct change {
    tuned_field field;
    double before;
    double after;
  };
  std::vector<change> changes; ///< in the order of a profile

  double searched_ratio = 1;      ///< candidate / start on the seeds of the search, which flatters
  tuning_comparison over_start;   ///< the candidate's, on the held-out seeds
  tuning_comparison over_default; ///< the same
  struct beside_purpose {
    std::string name;
    tuning_comparison over; ///< the same
  };
  std::vector<beside_purpose> over_purposes;  ///< over all but the candidate and what equals the start
  std::vector<tuning_comparison> by_workload; ///< over the start
  tuning_comparison p99_over_start; ///< the candidate's effect on the 99th percentile, whatever the goal
  bool p99_kept = true;             ///< energy: nowhere more than a tenth worse, with 99% certainty
  tuning_figures of_start;          ///< means of the start's held-out runs
  tuning_figures of_candidate;      ///< the same of the candidate's

  std::uint32_t evaluations = 0; ///< profiles tried, beside the start and the purposes
  bool exhausted = false;        ///< the search ended by itself, before its budget did
};

/// Searches from `start` or the best purpose, in `fields`, on `e`, whose workers run the objective. The
/// answer is the best of the found profile and the purposes on the held-out seeds, if that is a gain over
/// `start`. With the same arguments and enough budget in time it finds the same again. Throws what the
/// objective throws, `std::invalid_argument` for a `start` with errors, and `std::runtime_error` where a run
/// has no figures to compare.
tuning_result tune(engine& e, const profile& start, std::vector<tuned_field> fields,
                   const tuning_objective& objective, const tuning_options& options);

/// The request behind a tuned profile, as the comment in it tells. Texts are made fit for a comment.
struct tuning_story {
  std::string machine;
  std::string start; ///< the profile that it began with
  std::vector<std::string> workloads;
  std::string command; ///< the command that does it again
  std::uint64_t tasks = 0;
};

/// Writes the findings in lines for people: what is gained and how much of that may be luck, or that nothing
/// is, or too little for a change; how it stands beside the purposes; what it costs; then the assumptions.
std::vector<std::string> findings(const tuning_result& r, const tuning_options& options);
/// Writes the profile to use, as YAML with all that in comments. `file` is the start as its author wrote it,
/// without the machine that was put in.
std::string tuned_profile_text(const tuning_result& r, const profile& file, const tuning_options& options,
                               const tuning_story& story);

} // namespace corewise
