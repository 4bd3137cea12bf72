#pragma once

#include "boards.hpp"
#include "event_queue.hpp"
#include "followed_policies.hpp"
#include "live_counts.hpp"
#include "measuring.hpp"
#include "tasks.hpp"
#include "time_limit.hpp"

#include <corewise/policies/idle_rules.hpp>
#include <corewise/policies/repeated_placement.hpp>
#include <corewise/policies/shared_work.hpp>
#include <corewise/policies/steal_policy.hpp>
#include <corewise/simulator/simulation.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <memory>
#include <vector>

// The engine's workers as states and events. The engine's own code decides: the policies, the boards that
// they read, and the rules of idle_rules.hpp and shared_work.hpp. This class has only what happens between
// two decisions, and when.
//
//     asleep ──wake──► waking ──► looking ──found──► running ──task ends──► its next task, or looking
//       ▲                            │
//       └──── spun for idle.spin ────┘
//
// A worker that looks and finds nothing is one of its domain's searchers and spins. Instead of a look every
// few nanoseconds, it has a look when something is put where it could take it (`offer_to_searchers`), and one
// when its time is up. Its bits on the board are those of the engine's worker.

namespace corewise::detail {

/// The names of random streams: each thing is drawn from a stream of its own. `arrival_stream` has the names
/// below these.
enum stream_name : std::uint64_t {
  services_stream = 100,
  origins_stream,
  homes_stream,
  samples_stream,
  first_client_stream = 1'000,
};

class simulation : private idle_rules<simulation> {
  friend idle_rules<simulation>;
  friend class scripted_simulation; // tests/simulator/order_test.cpp

 public:
  /// Prepares a run; all arguments must outlive it.
  simulation(const profile& p, const simulated_machine& machine, const workload& w,
             const simulation_options& options);

  simulation_result run();

 private:
  enum class state : std::uint8_t { asleep, waking, spinning, running };
  struct seat {
    state now = state::asleep;
    bool searching = false;    ///< counted as a searcher of its domain
    bool look_planned = false; ///< while it spins
    bool listed = false;       ///< in its domain's `spinners`
    bool injection_first = true;
    bool ring_turn = true;
    bool background_turn = true;
    std::uint32_t background_at = 0;
    std::array<bool, queued_classes> handed{}; ///< as in the engine's worker
    std::uint32_t generation = 0; ///< grows with each change of state and voids what was planned before
    task_row ring, inbox, forks;
    bool times_inbox = false;           ///< the inbox notes when its tasks came
    std::uint32_t inbox_user = nowhere; ///< the worker that put into the inbox, or took from it, last
    task_index lifo = no_task;
    std::uint32_t lifo_puts = 0; ///< how many tasks were ever put into the slot
    std::uint32_t lifo_put = 0;  ///< how many tasks had begun when the slot's task was put there
    task_index running = no_task;
    std::uint32_t front = 0; ///< how many of the ring's tasks come before the LIFO slot
    double debt_ns = 0;      ///< its work for others, to be paid before its next task
    // As in the engine's worker.
    std::uint32_t until_shared = 1;
    std::uint32_t interval = 8;
    std::uint32_t next_left = 0;
    std::uint32_t latency_left = latency_row;
    std::uint32_t polls = 0;
    std::uint32_t next_look = 1;
    std::uint32_t started = 0;
    std::int64_t tick_began_ns = 0;
    std::uint64_t average_ns = first_task_time_ns;
    std::uint64_t task_time_ns = 0;
    std::int64_t since_ns = 0; ///< when it came into its state
    placement_rng rng{0};
    placement_cursor cursor;
  };
  struct group_books {
    task_row injection;                     ///< empty where another group's is used
    std::uint32_t injection_user = nowhere; ///< the worker that put into it, or took from it, last
    std::uint32_t waiting = 0;              ///< in rings, inboxes and deques of forks
    std::uint64_t task_time_ns = spill_task_time_ns;
  };
  struct domain_books {
    std::array<task_row, queued_classes> classes;
    /// By class, the engine's word: true until a worker finds nothing there.
    std::array<bool, queued_classes> waiting_words{};
    std::uint32_t searching = 0;
    bool asked = false;
    std::uint32_t searchers_max = 1;
    std::uint32_t waiting = 0;           ///< as of groups
    std::uint32_t slots = 0;             ///< LIFO slots that are taken
    std::vector<std::uint32_t> spinners; ///< workers that spin with no look planned; some have stopped
  };
  struct outside_thread { ///< one on each CPU
    placement_rng rng{0};
    placement_cursor cursor;
    repeated_placement last;
  };
  struct event {
    enum class kind : std::uint8_t {
      arrival,
      task_ends,
      woken,
      look,
      spun,
      slot_aged,
      client_submits,
      root_comes
    } what;
    std::uint32_t who = 0;
    std::uint32_t generation = 0;
  };

  // --- what idle_rules asks
  bool stealing() const noexcept { return stealing_; }
  bool anybody_parked() const noexcept { return asleep_ != 0; }
  bool searching(std::uint32_t domain) const noexcept { return domains_[domain].searching != 0; }
  bool ask_to_look_elsewhere(std::uint32_t domain) noexcept {
    domains_[domain].asked = true;
    return searching(domain);
  }
  bool take_request(std::uint32_t domain) noexcept {
    return !searching(domain) && std::exchange(domains_[domain].asked, false);
  }
  std::uint32_t active_in(group_id g) const noexcept {
    return static_cast<std::uint32_t>(layout_.of_group(g).size());
  }
  bool can_wake(group_id g) const noexcept { return sleepers_[g.value] != 0; }
  bool wake(group_id g, std::size_t place) noexcept;
  bool wake_any(group_id g) noexcept;
  bool lowest_first() const noexcept { return profile_.idle.wake == wake_order::lowest; }
  std::uint32_t waiting_in(std::uint32_t domain) const noexcept;
  bool work_in(group_id g) const noexcept { return groups_books_[g.value].waiting != 0 || injected(g) != 0; }
  std::uint32_t injected(group_id g) const noexcept {
    return groups_books_[injection_of_[g.value].value].injection.size();
  }
  void wake_for_injection(group_id g) noexcept;
  std::uint32_t least_at(level l) const noexcept { return minimum_at_[static_cast<std::size_t>(l)]; }
  std::uint64_t task_time_ns(group_id g) const noexcept { return groups_books_[g.value].task_time_ns; }
  static bool stands_still(std::uint32_t) noexcept { return false; } // simulated tasks end soon
  bool class_waits(std::uint32_t domain, task_class c) const noexcept {
    return !domains_[domain].classes[static_cast<std::size_t>(c) - 1].empty();
  }
  bool spins_in(group_id g) const noexcept { return boards_.view().board(g).spinning.any(); }
  bool on_its_way(group_id g) const noexcept;
  static bool wake_to_send_away(std::uint32_t) noexcept { return false; } // no simulated worker retires

  // --- arrivals (simulated_workload.cpp)
  void begin();
  void plan_arrival();
  void arrive();
  void client_submits(std::uint32_t client);
  void first_tasks();
  task_index make_task(double service_ns, std::uint32_t cpu);
  void submit_from(task_index t, std::uint32_t cpu);
  std::uint32_t draw_cpu();
  std::uint32_t comes_from(task_index t, std::uint32_t cpu);
  void submit_root();
  task_index make_child(worker_id w, task_index parent);
  void fork_children(worker_id w, task_index parent);
  void ask(worker_id w, task_index t);
  void end_turn(task_index t);
  void begin_turn(worker_id w, task_index t);
  /// Does what follows from the task's end.
  void after(worker_id w, task_index t);
  void end_task(task_index t);

  // --- placing (simulated_placing.cpp)
  void submit_outside(task_index t, std::uint32_t cpu);
  void submit_on_worker(task_index t, worker_id w);
  void send(task_index t, const placement& to);
  void put(task_index t, const placement& to);
  void put_in_class(task_index t, group_id g);
  /// Wakes a task that goes on: the running task of worker w wakes it, or it has yielded there.
  void wake_task(worker_id w, task_index t);
  void yield(worker_id w, task_index t);
  void send_back(task_index t, worker_id from);
  void push_next(worker_id w, task_index t);
  void push(worker_id w, task_index t);
  void give_way(worker_id w, task_index t);
  void fork(worker_id w, task_index t);
  void store(worker_id w, task_index t);
  void inject(group_id g, task_index t);
  void fetch(std::uint32_t& last_user, std::uint32_t user, double lines) noexcept;
  void notify_pushed(worker_id w);
  void offer_class(std::uint32_t domain, task_class c, group_id first);
  void offer_to_searchers(group_id own);
  void offer_rest();
  bool offer_in_domain(std::uint32_t domain, group_id first);
  placement_hint hint_of(const simulated_task& t) const noexcept;
  void slot_aged(worker_id w, std::uint32_t puts);

  // --- a worker's turn (simulated_turns.cpp)
  void turn(worker_id w);
  void begin_task(worker_id w, task_index t, double extra_ns);
  void task_ends(worker_id w);
  task_index poll(worker_id w);
  task_index poll_due(worker_id w);
  task_index pop_ring(worker_id w);
  task_index poll_shared(worker_id w, bool due);
  task_index poll_latency(worker_id w);
  task_index take_next(worker_id w);
  task_index take_inbox(worker_id w, bool batch);
  task_index take_oldest(worker_id w);
  task_index take_injected(worker_id w, group_id from);
  task_index take_class(std::uint32_t domain, task_class c);
  task_index keep(worker_id w, task_row& taken, std::uint32_t in_front);
  std::uint32_t share_of(worker_id w, std::uint32_t waiting) const noexcept;
  std::uint32_t room(worker_id w) const noexcept;
  void look_at_clock(worker_id w);
  void begin_tick(worker_id w);
  void end_tick(worker_id w);
  void note_task_time(worker_id w);

  // --- looking for work (simulated_search.cpp)
  void rest(worker_id w);
  void look(worker_id w, steal_effort effort, bool time_is_up);
  void found(worker_id w);
  void park(worker_id w);
  void plan_look(worker_id w);
  task_index look_around(worker_id w, steal_effort effort, double& cost_ns);
  bool anything_to_steal(worker_id w) const noexcept;
  /// Returns whether enough waits in any domain for workers of another domain to take from it.
  bool anything_for_others() const noexcept { return injected_ + in_classes_ + loaded_domains_ != 0; }
  task_index steal(worker_id w, steal_effort effort, double& cost_ns);
  task_index take_suited(worker_id w, task_class c, steal_effort effort);
  task_index take_far_class(worker_id w);
  task_index steal_from(worker_id thief, worker_id victim, level distance);
  bool own_work(worker_id w) const noexcept;
  bool work_for(worker_id w) const noexcept;

  // --- books
  void show(worker_id w) noexcept;
  void count_waiting(worker_id w, std::int32_t change) noexcept;
  void count_slot(worker_id w, bool taken) noexcept;
  void set_state(worker_id w, state s) noexcept;
  seat& at(worker_id w) noexcept { return seats_[w.value]; }
  group_id group_of(worker_id w) const noexcept { return layout_[w].group; }
  std::uint32_t domain_of(worker_id w) const noexcept { return groups_[layout_[w].group].domain; }
  double run_time(worker_id w, const simulated_task& t) const noexcept;
  level level_of(const simulated_task& t, group_id ran_in) const noexcept;
  load_view view_for(std::uint64_t task_time_ns) const noexcept;
  void sample_loads();
  void tell_moment() const;
  void note_places();
  void handle(const event& e);
  /// Plans an event after a time in ns. Events beyond the latest time are planned for it; `run` stops there.
  void plan(double after_ns, const event& e) { plan(whole(after_ns), e); }
  void plan(std::chrono::nanoseconds after, const event& e) {
    events_.push(now_ns_ + std::min(after.count(), latest_time_ns - now_ns_), e);
  }
  static std::chrono::nanoseconds whole(double ns) noexcept {
    constexpr auto most = static_cast<double>(latest_time_ns);
    return std::chrono::nanoseconds(ns < most ? static_cast<std::int64_t>(ns) : latest_time_ns);
  }
  static bool waits_only(const event& e) noexcept;
  void check_limits(std::int64_t next_ns) const;
  /// How long the tasks that are still in the system have been there, added up.
  wide still_in_system();

  // --- whether the books are right (simulated_books.cpp)
  void look_through_books();
  std::uint32_t look_through_group(const locality_group& g);
  std::uint32_t look_through_seat(worker_id w);
  std::uint32_t counted(const task_row& row);

  const profile& profile_;
  const simulated_machine& machine_;
  const workload& workload_;
  const simulation_options& options_;
  const machine_costs& costs_;
  const discipline_rules rules_;
  followed_policies policies_;
  bool stealing_;
  bool injects_;
  bool resumptions_return_;
  std::uint32_t ring_capacity_;
  std::uint32_t inbox_capacity_;
  std::array<std::uint32_t, level_count> minimum_at_;

  simulated_boards boards_;
  std::vector<seat> seats_;
  std::vector<group_books> groups_books_;
  std::vector<group_id> injection_of_;
  std::vector<domain_books> domains_;
  std::vector<std::uint32_t> sleepers_; // by group
  std::vector<std::optional<std::uint32_t>> package_of_node_;
  std::vector<std::vector<std::uint32_t>> cpus_of_node_;
  std::vector<std::uint32_t> cpus_;
  std::vector<outside_thread> outside_;      // by place in `cpus_`
  std::vector<std::uint32_t> homes_of_data_; // nodes
  std::vector<std::uint32_t> place_of_cpu_;
  std::uint32_t asleep_ = 0;
  std::uint32_t running_ = 0; // workers with a task
  std::uint32_t waiting_ = 0; // in rings, inboxes and deques of forks
  std::uint32_t injected_ = 0;
  std::uint32_t in_slots_ = 0;
  std::uint32_t loaded_domains_ = 0; // domains where any waits in rings, inboxes and deques
  std::uint32_t in_classes_ = 0;
  std::uint32_t listed_ = 0; // in all domains' `spinners`

  event_queue<event> events_;
  std::int64_t now_ns_ = 0;
  std::uint32_t acting_ = nowhere; // the worker whose event this is
  task_pool tasks_;
  std::optional<arrival_stream> arrivals_;
  std::optional<arrival> next_arrival_;
  random_stream services_;
  random_stream origins_;
  random_stream homes_;
  std::vector<random_stream> clients_;
  std::uint32_t pairs_left_ = 0; // of the pairs that the last root has spawned
  measuring measured_;
  live_counts live_;
};

} // namespace corewise::detail
