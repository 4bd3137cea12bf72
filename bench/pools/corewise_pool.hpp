#pragma once

#include <corewise/engine/engine.hpp>

#include <contender.hpp>

#include <cstdint>
#include <exception>
#include <utility>

namespace corewise::bench {

/// An engine as the options say: with the profile of `--profile`, with `--workers`, and without a limit of
/// tasks in flight.
class corewise_pool {
 public:
  static constexpr std::string_view name = "corewise";

  explicit corewise_pool(const options& o) : engine_(configured(o)), profile_(engine_.configuration().name) {
    for (const std::string& warning : engine_.warnings())
      std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }

  corewise::engine& engine() noexcept { return engine_; }
  const std::string& profile() const noexcept { return profile_; }

  /// Posts from outside.
  template <class F> void post(F&& f) {
    if (engine_.submit(std::forward<F>(f)) != submit_result::accepted) std::terminate();
  }
  /// Posts to a worker, which runs the task unless a thief may take it.
  template <class F> void post_to(std::uint32_t worker, F&& f) {
    if (engine_.submit(std::forward<F>(f), {.worker = worker_id{worker}}) != submit_result::accepted)
      std::terminate();
  }
  /// Spawns from a task.
  template <class F> void spawn(F&& f) { post(std::forward<F>(f)); }
  /// In a task: calls f, which blocks.
  template <class F> void blocking(F&& f) { corewise::blocking(std::forward<F>(f)); }

 private:
  static corewise::profile configured(const options& o) {
    corewise::profile p = o.profile.empty() ? corewise::profile{} : load_profile(o.profile);
    p.workers.total = o.workers;
    p.limits.in_flight = 0;
    return p;
  }

  corewise::engine engine_;
  std::string profile_;
};

} // namespace corewise::bench
