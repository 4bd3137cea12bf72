#pragma once

#include "base/fence.hpp"
#include "base/process_fork.hpp"
#include "books/drain.hpp"
#include "books/in_flight_limit.hpp"
#include "books/submitter.hpp"
#include "idle/idle.hpp"
#include "memory/near_nodes.hpp"
#include "runtime/suspended_table.hpp"
#include "threads/cpu_claims.hpp"
#include "threads/stack_signal.hpp"
#include "threads/supervisor.hpp"
#include "threads/threads.hpp"
#include "worker/group_state.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/detail/loop.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/timer.hpp>

#include <bit>
#include <memory_resource>
#include <span>

namespace corewise {

/// All that an engine is. The engine's threads share it, so that one that is still in a task when the engine
/// is destroyed has firm ground under it.
///
/// Reading order: `accept` → `worker::run` → `idle_workers::park`; docs/life_of_a_task.md follows a task
/// through it.
class runtime : public std::enable_shared_from_this<runtime> {
 public:
  runtime(profile settings, engine_hooks hooks);
  ~runtime();

  /// Starts the workers' threads and waits until each sits on its seat. Throws `std::system_error`.
  void start();

  [[gnu::hot]] submit_result accept(task_header* t, const hint& wish, bool may_wait);
  void drain();
  shutdown_report shutdown(std::chrono::nanoseconds deadline);
  /// As `shutdown`, but for the destructor, which may not throw.
  shutdown_report end(std::chrono::nanoseconds deadline);
  /// The profile holds from here on, or is refused as a whole. Throws `profile_error`, `std::bad_alloc`.
  apply_result apply(profile next);
  /// The profile that holds now.
  profile configuration() const;
  /// In a forked child: the threads are not there; only the memory is.
  bool forked() const noexcept { return detail::fork_generation() != born_in_; }
  /// For a forked child: the threads cannot be joined, and the locks may be held for ever, so the memory is left alone.
  void keep_for_ever() noexcept { self_ = shared_from_this(); }

  metrics_snapshot metrics() const;
  engine_dump dump() const;
  std::vector<std::string> warnings() const;

  /// Calls a spare thread to a seat that was lent. False: there is none.
  bool offer_seat(detail::worker& seat, std::uint64_t lending) noexcept {
    return threads_.offer(seat, lending);
  }
  /// Calls f(worker, lending) for each seat that is lent. Cost: a word for 64 workers.
  template <class F> void for_each_lent(const F& f) const noexcept;
  /// A suspended coroutine goes on: the next of the calling thread's worker, or where `send_on` brings it.
  void wake(detail::resumption& place) noexcept;
  /// The same, behind what waits there.
  void wake_behind(detail::resumption& place) noexcept;
  /// The same, but to its class's queue, to the worker that it ran on last, or to the injection queue.
  void send_on(task_header* t, const detail::coroutine_root& root) noexcept;
  /// As if it were submitted now; from a thread that has lost its seat, where `send_on` brings it.
  void place_again(detail::resumption& place, const hint& wish) noexcept;
  /// A coroutine that another engine runs, and that is suspended, becomes a task of this one. False: it is refused. On the
  /// thread that ran it; nothing of it is the caller's afterwards.
  bool take_over(detail::resumption& place);
  /// A forked task goes into the calling worker's deque, or where `send_on` brings it.
  void fork(detail::coroutine_root& child) noexcept;
  /// A forked task goes to a worker of that group, if it has one that is available, or where `send_on` brings it.
  void fork_to(detail::coroutine_root& child, group_id to) noexcept;
  /// A task that has not ended goes behind what waits for the calling worker, or where `send_on` brings it.
  void give_way(detail::coroutine_root& t) noexcept;
  /// How a loop of `size` is dealt over the groups: in order, by the capacities of their active workers. Throws
  /// `std::bad_alloc`.
  detail::loop_share_list loop_shares(std::uint64_t size) const;

  /// The group of the calling thread's worker, or the one that has the CPU that it is on, or else some group.
  group_id group_here() const noexcept;
  /// Memory for the group's data. Outlives the engine for whoever holds it. Throws `std::out_of_range`.
  const std::shared_ptr<std::pmr::memory_resource>& memory(group_id g) const { return memory_.at(g.value); }

  /// In whose wheel the calling thread sets timers; a coroutine's that is suspended now.
  group_id timer_home() const noexcept { return group_here(); }
  group_id timer_home(const detail::resumption& place) const noexcept;
  /// Sets t in the wheel of its group. `now_ns` is about the present, and not later. Any thread; t may be gone when this
  /// returns.
  detail::timer_group::outcome set_timer(detail::timer_node& t, std::int64_t now_ns) noexcept;
  /// True: it was pending and is the caller's. Any thread.
  bool cancel_timer(detail::timer_node& t) noexcept;
  /// A call in `first` from now, and then every `period`, if that is not 0. Any thread; one that is `inside` the task that
  /// runs.
  timer call_later(detail::scheduled* call, std::chrono::nanoseconds first, std::chrono::nanoseconds period,
                   detail::scheduled::on_set before = nullptr);
  /// A call of `every` has ended: sets it for the next time.
  void beat_again(detail::scheduled& call) noexcept;
  /// Fires what is due in the worker's group. Who sits on the seat. Cost while nothing is: a load.
  void look_at_timers(detail::worker& seat, detail::monotonic::time_point now) noexcept {
    const group_id g = seat.place().group;
    if (now.time_since_epoch().count() >= timers_->of(g).next_ns()) [[unlikely]]
      fire_due(seat, g, now);
  }
  /// Fires what is due in any group, in the worker's own into its ring. Who sits on the seat. True: something was.
  bool fire_all_due(detail::worker& seat) noexcept;

  /// A task ended by an exception, which is in flight now.
  void failed() noexcept;
  /// A task of `phase` ended on a thread that has no seat any more.
  void finished_without_seat(std::uint8_t phase) noexcept;
  /// The engine has ended, and the calling thread leaves `seat`, where its last task may have yielded.
  void leave_ended(detail::worker& seat) noexcept;
  /// No thread of the engine is left that could resume anybody: destroys the coroutines that are suspended, with what is
  /// queued.
  void drop_suspended() noexcept;
  /// One accepted task is gone.
  void release_one() noexcept { limit_.release(); }

  /// What the engine began with: for what cannot change. What can is in the rules.
  const profile& settings() const noexcept { return settings_; }
  const detail::swapped<detail::rules>& newest_rules() const noexcept { return rules_; }
  /// Destroys the rules that nobody uses any more. Called by whoever has just let go of older ones, or counts them.
  void forget_old_rules() const noexcept;
  const topology& machine() const noexcept { return machine_; }
  const locality_groups& groups() const noexcept { return groups_; }
  const worker_layout& layout() const noexcept { return layout_; }
  const engine_hooks& hooks() const noexcept { return hooks_; }

  detail::worker& seat(worker_id w) noexcept { return *seats_[w.value]; }
  detail::group_state& group(group_id g) noexcept { return *group_states_[g.value]; }
  group_board& board(group_id g) noexcept { return *boards_[g.value]; }
  detail::injection_queue& injection(group_id g) noexcept { return *injection_[g.value]; }
  /// The class queues of a group's domain.
  detail::domain_classes& classes(group_id g) noexcept { return *classes_[groups_[g].domain]; }
  detail::idle_workers& idle() noexcept { return *idle_; }
  detail::drain_gate& drains() noexcept { return drains_; }
  detail::supervisor& supervision() noexcept { return supervisor_; }
  detail::suspended_table& suspended() noexcept { return suspended_; }
  bool wants_node_memory() const noexcept;
  const load_view& view() const noexcept { return *view_; }
  /// Makes known how much the worker has to do now (load_levels.hpp). Any thread. Cost: its slot's two cache lines.
  [[gnu::hot]] void publish_load(const worker_place& w) noexcept;
  /// Makes known how little somebody of the group has to do. Any thread.
  void publish_least_of(group_id g) noexcept {
    if (group_levels_) publish_least(board(g), *group_levels_, g);
  }
  /// Whether there are injection queues.
  bool injects() const noexcept { return settings_.injection.scope != injection_scope::none; }
  /// How many workers of g have not retired; its first ones.
  std::uint32_t active_in(group_id g) const noexcept {
    return boards_[g.value]->active.load(std::memory_order_seq_cst); // pairs: shown
  }
  bool active(worker_id w) const noexcept { return index_in_group(w) < active_in(layout_[w].group); }
  /// To a worker of g that has not retired, or of the nearest group that has one; to each in turn.
  void send_near(task_header* t, group_id g) noexcept;
  /// The same for a task of class c, to the domain of such a worker.
  void send_near(task_header* t, group_id g, task_class c) noexcept;
  /// Workers look at nothing any more and leave.
  bool ended() const noexcept {
    return stage_.load(std::memory_order_acquire) == stage::ended; // pairs: stage
  }

  void warn(std::string text);
  /// Warns unless the same has been said.
  void warn_once(const std::string& text);
  /// To the log, and the first of them to the warnings as well.
  void report_stuck(std::string text);
  /// Where a thread of the engine is, a line for each call; empty unless the profile has a `debug.stack_signal`.
  std::string stack_of(pid_t thread) const { return stack_signal_ ? stack_signal_->stack_of(thread) : ""; }

 private:
  // | tag   | release site      | acquire site                  | publishes               | weakened                     |
  // |-------|-------------------|-------------------------------|-------------------------|------------------------------|
  // | stage | end: both stores, | open_to, ended, apply,        | what was done before it | a caller is let in for a     |
  // |       | the first before  | call_later: loads;            | ended; the rest is the  | while yet; without the fence |
  // |       | a full fence      | closed_meanwhile: its fence   | fences' order only      | a task that nobody waits for |
  enum class stage : std::uint8_t { open, closing, ended };

  void make_groups();
  void make_classes();
  void make_seats();
  void check_machine();
  void install_stack_signal();
  bool open_to(bool inside) const noexcept;
  /// A shutdown that began after `enter` either sees the submission that was counted, or is seen here. The fence serves the
  /// announced rules as well.
  bool closed_meanwhile() const noexcept {
    detail::full_fence();
    return stage_.load(std::memory_order_relaxed) != stage::open;
  }
  submit_result enter(bool inside, bool may_wait);
  /// By itself, as below.
  [[gnu::noinline, gnu::cold]] submit_result wait_or_refuse(bool inside, bool may_wait);
  [[gnu::hot]] submit_result enter_without_seat(detail::submitter& me, bool inside, bool may_wait,
                                                std::uint8_t& phase);
  [[gnu::hot]] void place_entered(detail::submitter& me, task_header* t, const hint& wish) noexcept;
  [[gnu::hot]] void place_from_seat(detail::worker& seat, task_header* t, const hint& wish) noexcept;
  /// By itself, so that who keeps its own saves no registers for it.
  [[gnu::noinline]] void place_by_policy(detail::worker& seat, task_header* t, const hint& wish) noexcept;
  [[gnu::hot]] void place_from_outside(detail::submitter& from, const detail::rules& by, task_header* t,
                                       const hint& wish) noexcept;
  worker_id rather_at(std::uint32_t cpu, const placement& chosen) const noexcept;
  void send_back(task_header* t, const detail::worker& seat) noexcept;
  void send_to_class(task_header* t, const detail::coroutine_root& root) noexcept;
  void put_in_class(task_header* t, group_id g, task_class c) noexcept;
  hint with_node(const hint& wish) noexcept;
  void fire_due(detail::worker& seat, group_id g, detail::monotonic::time_point now) noexcept;
  void fire(detail::worker& seat, group_id g, detail::timer_node& t) noexcept;
  void submit_fired(detail::worker& seat, group_id g, detail::scheduled& call) noexcept;
  void find_no_room(detail::scheduled& call) noexcept;
  static void next_beat(detail::scheduled& call, std::int64_t now, std::int64_t left_out) noexcept;
  void set_again(detail::scheduled& call, std::int64_t now) noexcept;
  template <class F> void for_each_holder(const F& f) const;
  std::size_t outdated_rules() const noexcept;
  worker_id active_near(group_id g) noexcept;
  std::vector<apply_result::reason> what_it_cannot(const profile& next,
                                                   std::vector<std::uint32_t>& workers) const;
  void even_out(std::vector<std::uint32_t>& workers) const noexcept;
  void set_active(std::span<const std::uint32_t> workers) noexcept;
  [[gnu::hot]] void send(task_header* t, const placement& to,
                         detail::segment_writer* overflow = nullptr) noexcept;
  [[gnu::hot]] void put(task_header* t, const placement& to,
                        detail::segment_writer* overflow = nullptr) noexcept;
  task_origin outside_origin(std::optional<std::uint32_t> cpu, placement_rng& rng) const noexcept;
  std::size_t index_in_group(worker_id w) const noexcept {
    return w.value - layout_.of_group(layout_[w].group).front().id.value;
  }
  bool available(worker_id w) const noexcept {
    return !boards_[layout_[w].group.value]->unavailable.test(index_in_group(w));
  }
  [[gnu::hot]] void publish_one_more(const worker_place& w) noexcept;
  [[gnu::hot]] void publish(const worker_place& w, std::uint8_t level) noexcept;
  struct counts {
    std::uint64_t finished = 0;
    std::uint64_t submitted = 0;
  };
  counts sum(std::uint8_t phase) const;
  std::uint32_t injected_in(detail::group_state& g) const noexcept;
  bool quiet(std::uint8_t phase) const;
  void wait_for_arriving() const;
  void drop_queued() noexcept;
  void drop(task_header* t) noexcept;
  bool drop_round() noexcept;
  bool drop_timers() noexcept;
  task_header* pop_inbox_of(detail::worker& seat) noexcept;
  seat_dump dump(const detail::worker& seat) const;

  profile settings_;
  engine_hooks hooks_;
  topology machine_;
  locality_groups groups_;
  const std::optional<std::uint32_t> start_cpu_; // of the constructing thread
  worker_layout layout_;
  mutable detail::swapped<detail::rules> rules_; // who only looks at the engine may forget old ones
  std::atomic<bool> resumptions_return_;         // to their worker, says the policy; relaxed: either is found
  std::atomic<bool> waits_when_full_;            // relaxed: a setting by itself
  const detail::near_nodes near_nodes_;
  const unsigned born_in_; // the fork generation

  std::vector<std::unique_ptr<detail::group_state>> group_states_;
  std::vector<std::shared_ptr<std::pmr::memory_resource>> memory_; // by group
  std::vector<std::unique_ptr<group_board>> boards_;
  std::vector<detail::injection_queue*> injection_;
  std::vector<std::unique_ptr<detail::node_arena>> class_memory_; // by domain
  std::vector<std::unique_ptr<detail::domain_classes>> classes_;  // by domain
  std::vector<detail::worker*> seats_;
  std::vector<detail::worker_queues*> queues_;
  std::vector<unsigned char> group_level_bytes_;
  std::optional<load_levels> group_levels_; // where there are several groups
  std::optional<load_view> view_;
  std::vector<detail::timer_group*> timer_groups_;
  std::optional<detail::timer_watch> timers_;
  std::unique_ptr<detail::idle_workers> idle_;

  detail::submitter_registry submitters_;
  detail::suspended_table suspended_;
  detail::drain_gate drains_;
  detail::in_flight_limit limit_;
  std::atomic<stage> stage_{stage::open};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> rejected_{0};
  std::atomic<std::uint64_t> dropped_{0}; // tasks that were destroyed before their end
  std::atomic<bool> near_warned_{false};  // that `near` has no effect
  detail::cpu_claim claim_;
  std::optional<detail::stack_signal> stack_signal_;

  mutable std::mutex warnings_mutex_;
  std::vector<std::string> warnings_;
  std::mutex shutdown_mutex_;
  std::mutex apply_mutex_;
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint32_t> turn_{0}; // of those who take over what retired workers had
  std::mutex dropping_;                // held by whoever pops an unbounded inbox instead of its worker
  std::size_t stuck_reports_ = 0;      // guarded by warnings_mutex_
  std::optional<shutdown_report> report_;
  std::shared_ptr<runtime> self_; // of a forked child only
  detail::supervisor supervisor_;
  detail::worker_threads threads_; // last: its threads use all the rest
};

template <class F> void runtime::for_each_lent(const F& f) const noexcept {
  for (const locality_group& g : groups_.groups()) {
    const worker_bits& away = boards_[g.id.value]->unavailable;
    for (std::size_t word = 0; word * 64 < away.size(); ++word) {
      for (std::uint64_t bits = away.word(word); bits != 0; bits &= bits - 1) {
        const std::size_t index = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        const worker_id w = layout_.of_group(g.id)[index].id;
        if (const auto lending = seats_[w.value]->lending()) f(w, *lending);
      }
    }
  }
}

} // namespace corewise
