#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise {

namespace detail {

/// A package or a node that has an engine of its own.
struct machine_share {
  std::uint32_t number = 0; ///< as the operating system counts them
  double of_quota = 1;
};

} // namespace detail

/// Returns a profile for each part of the machine, as `engines.per` of the given one says. Each is the given profile
/// with the part's packages or nodes in `topology.use`, and with the part's number behind its name, as `NAME/p0` or
/// `NAME/n0`. A part without a CPU that may be used gets no engine. Numbers of workers hold for each engine; the host's
/// CPU quota is divided in proportion to capacity. Throws as `discover`; `topology_error` if a package has no number.
std::vector<profile> profiles_per_part(const profile& p);

/// Several engines of one process, one for each package for instance. A task stays in its engine: no thief and no
/// placement leaves it. Each has queues, threads, memory and listeners of its own; they are shut down together.
///
///     corewise::engine_set engines(corewise::load_profile("mydaemon.yaml")); // engines: {per: package}
///     for (corewise::engine& e : engines) serve(e);
///     engines.shutdown(std::chrono::seconds{10});
///
/// Call any member from any thread, and from tasks unless it says otherwise.
class engine_set {
 public:
  /// Makes an engine for each part of the machine (`profiles_per_part`); where `engines.per` is `machine`, one that bears
  /// the profile's own name. All call these hooks; the log's lines begin with the engine's name if there are several.
  /// Throws as the constructor of `engine`, and as `profiles_per_part`; then those that had begun are ended.
  explicit engine_set(const profile& p, const engine_hooks& hooks = {});
  /// Makes an engine for each of the profiles. Throws `std::invalid_argument` also when there is none, and when two have
  /// the same name.
  explicit engine_set(const std::vector<profile>& profiles, const engine_hooks& hooks = {});
  engine_set(engine_set&&) = delete;
  /// Ends all as `shutdown(engine::destructor_deadline)` does. In a task of one of them it does not wait for tasks.
  ~engine_set();

  std::size_t size() const noexcept { return engines_.size(); }
  engine& operator[](std::size_t i) noexcept { return engines_[i]; }
  const engine& operator[](std::size_t i) const noexcept { return engines_[i]; }
  auto begin() noexcept { return engines_.begin(); }
  auto end() noexcept { return engines_.end(); }
  auto begin() const noexcept { return engines_.begin(); }
  auto end() const noexcept { return engines_.end(); }

  /// Returns the name of an engine, that of the profile with which it began.
  const std::string& name(std::size_t i) const noexcept { return names_[i]; }
  /// Returns the engine of that name; null: there is none.
  engine* find(std::string_view name) noexcept;
  /// Returns the engine of the calling task; outside of tasks the one that has the CPU that the thread runs on, or the
  /// first one.
  engine& local() noexcept;

  /// Ends all engines at the same time, each as `engine::shutdown` does. Returns a report for each. Throws
  /// `std::logic_error` in a task of one of them, `std::bad_alloc`.
  std::vector<shutdown_report> shutdown(any_duration deadline) {
    return shutdown(std::chrono::nanoseconds{0}, deadline);
  }
  std::vector<shutdown_report> shutdown(any_duration grace, any_duration deadline);

  /// Gives all engines their part of a profile, or leaves all as they are and returns why. The parts stay those with which
  /// the set began. Throws as `engine::apply`; a set of several profiles takes none for all, and throws
  /// `std::logic_error`.
  apply_result apply(const profile& p);
  /// Returns the profile that was applied last to all, or with which the set began. Nothing: each has one of its own.
  std::optional<profile> configuration() const;

  /// Returns the counts of all engines, each with its name if there are several.
  std::vector<metrics_snapshot> metrics() const;

 private:
  void begin(const std::vector<profile>& profiles, const engine_hooks& hooks);
  engine* of_this_task() noexcept;
  std::vector<shutdown_report> end_each(any_duration grace, any_duration deadline);
  apply_result apply_each(const std::vector<profile>& next);

  std::vector<detail::machine_share> parts_; // of the engines, if they have parts of a machine
  mutable detail::mutex mutex_;
  /// Guarded; of which the engines have parts, or null. Replaced by one store, so a process fork finds the old one or
  /// the new.
  std::unique_ptr<const profile> whole_;
  std::vector<std::string> names_;
  std::deque<engine> engines_;
};

/// Makes an engine for each such part of the machine, whatever `engines.per` of the profile says.
inline engine_set engines_per(machine_part part, profile p, const engine_hooks& hooks = {}) {
  p.engines.per = part;
  return engine_set(p, hooks);
}

} // namespace corewise
