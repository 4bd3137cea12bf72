#pragma once

#include <corewise/policies/discipline.hpp>
#include <corewise/policies/dispatch_weights.hpp>
#include <corewise/policies/integer_range.hpp>
#include <corewise/policies/steal_start.hpp>
#include <corewise/topology/discovery.hpp>
#include <corewise/topology/groups.hpp>
#include <corewise/topology/workers.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

/// The CPUs to which worker threads are tied.
enum class pin_to : std::uint8_t {
  automatic, ///< the group's CPUs: the kernel balances inside
  core,
  group,
  node,
  none,
};
/// Where workers' memory is taken from.
enum class memory_on : std::uint8_t { node, anywhere };
enum class thread_naming : std::uint8_t { group, worker };
enum class injection_scope : std::uint8_t { group, engine, none };
enum class wake_order : std::uint8_t { nearest, lowest };
enum class full_action : std::uint8_t { reject, wait };
/// The fate of a plain `blocking` call in excess of `blocking.max_concurrent`.
enum class excess_action : std::uint8_t { wait, refuse };
enum class exception_action : std::uint8_t { terminate, report };
/// The parts of a machine of which each has an engine of its own.
enum class machine_part : std::uint8_t { machine, package, node };

/// A duration that can be "never": empty. Not `hours::max()`, which overflows where the program converts it.
using optional_duration = std::optional<std::chrono::nanoseconds>;

/// How sleeping workers time out.
struct park_timeout_setting {
  enum class mode : std::uint8_t { adaptive, fixed, never } kind = mode::adaptive;
  std::chrono::nanoseconds fixed{0};
};

/// Whether the engine follows what the host allows, and how often it looks.
struct follow_setting {
  enum class mode : std::uint8_t { automatic, off, fixed } kind = mode::automatic;
  std::chrono::nanoseconds fixed{0};
};

/// Everything that configures an engine. The defaults are good on any machine; `load_profile` reads a profile
/// from YAML. docs/profile.md describes each field; it is made from the same table as the checks.
struct profile {
  std::uint32_t version = 1;
  /// The name of a profile that has no name of its own.
  static constexpr const char* unnamed = "default";
  std::string name = unnamed;
  /// Where it was read from: the file, or what `parse_profile` was told; empty: the program made it. No YAML key.
  std::string source;

  struct topology_section {
    machine_description machine; ///< source, use, capacity, kinds, distances
    grouping_options groups;
    smt_use smt = smt_use::one_per_core;
    follow_setting follow;
    bool hfi = false;     ///< follow what the hardware says of the speed of cores (`capability_events`)
    bool measure = false; ///< the capacities of cores, by how long like tasks take
  } topology;

  struct engines_section {
    machine_part per = machine_part::machine; ///< for an `engine_set`; one engine takes all
  } engines;

  struct workers_section {
    std::optional<std::uint32_t> per_group; ///< nothing: auto
    std::optional<std::uint32_t> total;     ///< `--workers N`; no YAML key
    std::optional<std::uint32_t> headroom;  ///< workers that may come later, at least; 0: none; nothing: auto
    double quota_part = 1; ///< of the CPU quota, what this engine of several may use; no YAML key
    pin_to pin = pin_to::automatic;
    memory_on memory = memory_on::node;
  } workers;

  struct sharing_section {
    std::string file; ///< empty: the machine is shared with no other daemon
    std::uint32_t weight = 100;
  } sharing;

  struct dispatch_section {
    std::string policy = "nearest_lightest";
    dispatch_weights weights; ///< `weights_of` completes them
  } dispatch;

  struct steal_section {
    std::string policy = "nearest_half";
    steal_start start = steal_start::nearest;
    std::uint32_t batch_max = 128;
    /// Tasks that must wait in a domain before a worker at that level is woken for them or takes them: so many of 50 µs or
    /// less, or fewer that take as long.
    struct thresholds {
      std::uint32_t same_node = 2;
      std::uint32_t same_package = 2;
      std::uint32_t cross_package = 4;
    } minimum_at;
  } steal;

  struct queues_section {
    corewise::discipline discipline = corewise::discipline::standard;
    std::uint32_t local = 256;
    std::string overflow = "half";
    std::uint32_t lifo_cap = 3;
    optional_duration lifo_age = std::chrono::microseconds{50};
    std::uint32_t budget = 512;
    std::optional<std::uint32_t> inbox = 1024; ///< nothing: unbounded
    optional_duration oldest_first = std::chrono::microseconds{50};
  } queues;

  struct injection_section {
    injection_scope scope = injection_scope::group;
    std::chrono::nanoseconds target_latency = std::chrono::milliseconds{1};
    integer_range interval{8, 255};
    integer_range batch{4, 64};
  } injection;

  struct idle_section {
    std::uint32_t searchers_per_mille = 500;
    std::chrono::nanoseconds spin = std::chrono::microseconds{20};
    wake_order wake = wake_order::nearest;
    park_timeout_setting park_timeout;
  } idle;

  struct blocking_section {
    std::uint32_t spares_max = 64;
    std::chrono::nanoseconds keep_alive = std::chrono::seconds{10};
    optional_duration stuck_after = std::chrono::milliseconds{100};
    std::uint32_t max_concurrent = 0; ///< 0: no limit
    excess_action on_full = excess_action::wait;
  } blocking;

  struct io_section {
    std::uint32_t batch = 8;
  } io;

  struct limits_section {
    std::uint64_t in_flight = 0; ///< 0: unbounded
    full_action on_full = full_action::reject;
  } limits;

  exception_action on_exception = exception_action::terminate;

  struct debug_section {
    std::optional<int> stack_signal; ///< nothing: none
    thread_naming thread_names = thread_naming::group;
    bool flight_recorder = false;
  } debug;

  bool strict = false;
};

/// One error in a profile or machine file.
struct profile_issue {
  std::string file;
  std::uint32_t line = 0;   ///< from 1; 0: no line (the file could not be read)
  std::uint32_t column = 0; ///< from 1
  std::string key;          ///< the path of the key, "steal.minimum_at.same_node"; may be empty
  std::string message;      ///< what was found; what would be right

  /// "file:line:column: key.path: what was found; what would be right"
  std::string to_string() const;
};

/// A profile or machine file that cannot be used, with all its errors. `what()` has a line for each.
class profile_error : public std::runtime_error {
 public:
  explicit profile_error(std::vector<profile_issue> issues);
  const std::vector<profile_issue>& issues() const noexcept { return issues_; }

 private:
  std::vector<profile_issue> issues_;
};

/// Reads a profile. Relative paths in it are relative to its folder. Call from any thread. Throws
/// `profile_error` with all errors.
profile load_profile(const std::string& file);
/// Reads a profile from text; `name` stands for the file in errors.
profile parse_profile(std::string_view yaml, const std::string& name = "profile");
/// Checks a profile's fields together, for profiles made in code. Returns an empty list if all is right.
std::vector<profile_issue> check_profile(const profile& p);

/// Returns the weights for the profile's policy: those of `dispatch`, completed from the rest of the profile.
inline dispatch_weights weights_of(const profile& p) {
  dispatch_weights w = p.dispatch.weights;
  if (p.steal.policy == "none") w.keep_below_ns = 0;
  return w;
}
/// Returns how many tasks must wait in a domain for a worker at a level to take them: from a domain that is nearer no more
/// than from one that is farther.
inline std::array<std::uint32_t, level_count> minimum_at_of(const profile& p) noexcept {
  const auto& at = p.steal.minimum_at;
  const std::uint32_t package = at.same_package < at.cross_package ? at.same_package : at.cross_package;
  return {1, 1, at.same_node < package ? at.same_node : package, package, at.cross_package};
}
/// Returns the part of the profile that says which workers there are, without headroom.
inline worker_options worker_options_of(const profile& p,
                                        std::optional<std::uint32_t> start_cpu = std::nullopt) noexcept {
  return {.smt = p.topology.smt,
          .per_group = p.workers.per_group,
          .total = p.workers.total,
          .start_cpu = start_cpu,
          .quota_part = p.workers.quota_part};
}
/// Returns how long to wait between two looks at what the host allows; nothing: the engine does not look.
inline optional_duration follow_period_of(const profile& p) noexcept {
  using mode = follow_setting::mode;
  switch (p.topology.follow.kind) {
  case mode::off: return std::nullopt;
  case mode::fixed: return p.topology.follow.fixed;
  case mode::automatic: break;
  }
  if (!p.sharing.file.empty()) return std::chrono::milliseconds{500};
  return std::chrono::seconds{1};
}

/// Reads the argument of `--machine`, live | FILE.xml | FILE.yaml | FOLDER | SYNTHETIC, into `into`: the
/// source, and for a machine file also its kinds and distances. FOLDER is a recorded machine with its `sys`
/// and `proc`. Throws `profile_error` or `topology_error`.
void use_machine(machine_description& into, const std::string& machine);

/// Return the JSON schema of a profile (draft 2020-12), and the reference page, both made from the table of
/// fields.
std::string profile_schema();
std::string profile_reference();

} // namespace corewise
