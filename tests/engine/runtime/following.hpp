#pragma once

#include "topology/recorded_host.hpp"

#include <corewise/engine/engine.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

// Shared by the tests of engines whose host changes what it allows.

namespace corewise::tests {

/// A profile with automatic numbers for that host. The engine looks that often.
inline profile following(const recorded_host& host,
                         std::chrono::nanoseconds period = std::chrono::milliseconds{10}) {
  profile p;
  p.topology.machine.source = live_source{host.root()};
  p.topology.follow = {follow_setting::mode::fixed, period};
  return p;
}

/// The same, where it looks only when it is told to.
inline profile waiting(const recorded_host& host) { return following(host, std::chrono::hours{1}); }

/// Runs a task, so that there is a supervisor, whose affinity mask counts.
inline void begin_supervisor(engine& e) {
  e.run([] {}).get();
}

/// Keeps what an engine's log says of changes of the machine.
class change_log {
 public:
  engine_hooks hooks() {
    engine_hooks all;
    all.on_log_record = [this](const log_record& r) {
      const std::scoped_lock lock(mutex_);
      if (r.code == log_code::machine_changed) lines_.emplace_back(r.text);
    };
    return all;
  }
  std::vector<std::string> lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Keeps an engine busy with tasks that submit the next, and counts them.
class steady_load {
 public:
  explicit steady_load(engine& e) : e_(e) {
    for (int i = 0; i < 32; ++i) next();
  }
  ~steady_load() { CHECK(ended()); }

  /// Ends it. Returns whether each task has run. Call from one thread.
  bool ended() {
    over_ = true;
    e_.drain();
    return begun_ == ended_;
  }

 private:
  void next() {
    ++begun_;
    REQUIRE(e_.submit([this] {
      for (int i = 0; i < 2000; ++i) spun_.fetch_add(1, std::memory_order_relaxed);
      if (!over_) next();
      ++ended_;
    }) == submit_result::accepted);
  }

  engine& e_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> spun_{0};
};

} // namespace corewise::tests
