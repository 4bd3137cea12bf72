#pragma once

#include "run_setup.hpp"
#include "tasks.hpp"

#include <utility>
#include <vector>

namespace corewise::detail {

/// The time that workers owe for what they do between two tasks: they submit, wake others, and fetch cache
/// lines of queues. A worker pays before its next task.
class worker_debts {
 public:
  explicit worker_debts(const run_setup& setup) : setup_(setup), owed_ns_(setup.layout.size()) {}

  /// Notes that an event begins, in which no worker acts until `acts` is called.
  void begin_event() noexcept { acting_ = nowhere; }
  void acts(worker_id w) noexcept { acting_ = w.value; }

  void charge(worker_id w, double ns) noexcept { owed_ns_[w.value] += ns; }
  /// Charges the acting worker, if there is one.
  void charge_acting(double ns) noexcept {
    if (acting_ != nowhere) owed_ns_[acting_] += ns;
  }
  /// Charges the acting worker for lines of a queue that come from the worker that used them last.
  void fetch(std::uint32_t& last_user, double lines) noexcept;

  /// Returns what the worker owes, which it pays now.
  double settle(worker_id w) noexcept { return std::exchange(owed_ns_[w.value], 0); }

 private:
  const run_setup& setup_;
  std::vector<double> owed_ns_;    // by worker
  std::uint32_t acting_ = nowhere; // the worker whose event this is
};

} // namespace corewise::detail
