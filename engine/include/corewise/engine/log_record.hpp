#pragma once

#include <corewise/policies/trace_id.hpp>
#include <corewise/topology/ids.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace corewise {

enum class log_severity : std::uint8_t {
  warning, ///< the engine works, with less than was asked for
  error,   ///< work is lost, or does not go on
};

/// The subject of a line of the log.
enum class log_code : std::uint8_t {
  machine,              ///< the machine, or a description of it, lacks something
  shared_cpus,          ///< another engine of this process uses the same CPUs
  not_pinned,           ///< the system refuses to tie a thread to CPUs
  not_on_node,          ///< the system refuses to bind memory to a node
  hint_without_effect,  ///< a hint near an address, on a described machine
  no_supervision,       ///< stuck workers are not reported, or not with stacks or traces
  stuck_worker,         ///< `blocking.stuck_after` is over
  out_of_spare_threads, ///< tasks wait for workers that are in blocking calls
  task_failed,          ///< an exception ended a task
  work_left,            ///< the engine was destroyed before its work was done
  not_steered,          ///< the kernel does not give connections to the CPUs that receive them
  accept_paused,        ///< the system gives no descriptor for a connection
  /// The host allows other CPUs, another quota or other memory nodes, other daemons share the CPUs, or cores have another
  /// speed: by limits of the host, the firmware or the hardware, or as measured.
  machine_changed,
};
std::string_view to_string(log_severity severity) noexcept;
std::string_view to_string(log_code code) noexcept; ///< its name, as `stuck_worker`

/// A line of the log for programs. Its views hold during the call of the hook.
struct log_record {
  struct number {
    std::string_view name; ///< with its unit, as `ran_ms`
    std::int64_t value;
  };

  log_severity severity = log_severity::warning;
  log_code code = log_code::machine;
  std::string_view engine = {};         ///< `name` of the profile with which it began
  std::optional<worker_id> worker = {}; ///< of which the line tells
  std::string_view task = {};           ///< the kind of its task, if known
  std::string_view task_name = {};      ///< `hint::name` of that task
  trace_id task_id = {};                ///< and `hint::id`
  std::span<const number> numbers = {}; ///< those in the text
  std::string_view text = {};           ///< the sentence for people, which `engine_hooks::log` gets
};

} // namespace corewise
