#pragma once

#include "boards.hpp"
#include "live_counts.hpp"
#include "measuring.hpp"
#include "run_setup.hpp"
#include "simulated_clock.hpp"

#include <utility>
#include <vector>

namespace corewise::detail {

enum class worker_state : std::uint8_t { asleep, waking, spinning, running };

/// The state of each worker, and which workers search. Measures how long workers are in their states, and keeps
/// the workers' bits on the boards that the policies read.
class worker_states {
 public:
  /// All workers sleep at first. All arguments must outlive this.
  worker_states(const run_setup& setup, const simulated_clock& clock, simulated_boards& boards,
                measuring& measured, live_counts& live);

  worker_state of(worker_id w) const noexcept { return workers_[w.value].now; }
  /// Grows with each change of state, and voids what was planned before.
  std::uint32_t generation(worker_id w) const noexcept { return workers_[w.value].generation; }
  /// How long the worker has been in its state.
  std::int64_t time_in_state_ns(worker_id w) const noexcept {
    return clock_.now_ns() - workers_[w.value].since_ns;
  }
  bool any_without_task() const noexcept { return running_ != workers_.size(); }
  /// Returns how many times as long a task takes that begins now on a running worker of the group, because
  /// workers run on other threads of its core. The group's running workers are taken to be spread evenly over
  /// its cores, as the kernel and `pin: core` spread them; the factor is the mean over them.
  double sharing(group_id g) const noexcept;

  /// Changes the state of a worker. `fall_asleep` and `wake` change it to `asleep` and from there.
  void change(worker_id w, worker_state to) noexcept;
  /// Measures the time until now in the worker's state.
  void measure(worker_id w) noexcept { change(w, of(w)); }
  /// Changes the state to `spinning`, and sets the bit of the board that shows it.
  void begin_spinning(worker_id w) noexcept;
  /// Clears that bit, whatever the state is, so that the next submitter chooses another worker.
  void hide_spinning(worker_id w) noexcept {
    worker_bits& spinning = boards_.of_worker(w).spinning;
    const std::size_t index = boards_.index_in_group(w);
    if (spinning.test(index)) (void)spinning.claim(index);
  }

  // --- sleep
  bool any_asleep() const noexcept { return asleep_ != 0; }
  bool any_asleep(group_id g) const noexcept { return sleepers_[g.value] != 0; }
  void fall_asleep(worker_id w) noexcept;
  /// Wakes a worker that sleeps; it searches. Returns false if it does not sleep.
  bool wake(group_id g, std::size_t index) noexcept;
  std::size_t lowest_asleep(group_id g) const noexcept { return boards_.of(g).parked.lowest(); }

  // --- search
  bool searches(worker_id w) const noexcept { return workers_[w.value].searching; }
  bool any_searches(std::uint32_t domain) const noexcept { return domains_[domain].searching != 0; }
  bool may_search_too(std::uint32_t domain) const noexcept {
    return domains_[domain].searching < domains_[domain].searchers_max;
  }
  void begin_search(worker_id w) noexcept;
  /// Ends the worker's search. Returns whether no worker of its domain searches any more.
  bool end_search(worker_id w) noexcept;
  /// Asks a domain's searchers to look after other domains as well. Returns false if no worker searches.
  bool ask_to_look_elsewhere(std::uint32_t domain) noexcept {
    domains_[domain].asked = true;
    return any_searches(domain);
  }
  /// Takes that request back. Returns whether there was one and no worker searches.
  bool take_request(std::uint32_t domain) noexcept {
    return !any_searches(domain) && std::exchange(domains_[domain].asked, false);
  }

  /// Checks that boards and counters agree with the states. Throws std::logic_error.
  void look_through() const;

 private:
  struct worker {
    worker_state now = worker_state::asleep;
    bool searching = false; ///< counted as a searcher of its domain
    std::uint32_t generation = 0;
    std::int64_t since_ns = 0;
  };
  struct domain_searchers {
    std::uint32_t searching = 0;
    std::uint32_t searchers_max = 1;
    bool asked = false;
  };

  const run_setup& setup_;
  const simulated_clock& clock_;
  simulated_boards& boards_;
  measuring& measured_;
  live_counts& live_;
  std::vector<worker> workers_;
  std::vector<domain_searchers> domains_;
  std::vector<std::uint32_t> sleepers_;   // by group
  std::vector<std::uint32_t> running_in_; // by group: workers with a task
  std::uint32_t asleep_ = 0;
  std::uint32_t running_ = 0; // workers with a task
};

} // namespace corewise::detail
