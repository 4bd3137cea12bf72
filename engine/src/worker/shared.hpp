#pragma once

#include "base/process_fork.hpp"
#include "books/drain.hpp"
#include "books/in_flight_limit.hpp"
#include "books/notices.hpp"
#include "books/submitter.hpp"
#include "books/suspended_table.hpp"
#include "idle/idle.hpp"
#include "memory/node_resource.hpp"
#include "recording/recording.hpp"
#include "rules/rules.hpp"
#include "worker/dropping.hpp"
#include "worker/due_timers.hpp"
#include "worker/group_state.hpp"
#include "worker/thread_service.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/blocking_limit.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/timer.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <unistd.h>

#include <span>

namespace corewise::detail {

/// The state that the workers of one engine share, by value: the machine, the groups with their boards and
/// queues, the seats, the books, and how a task is sent from one queue to another. `runtime` derives from it
/// and adds how an engine begins, takes tasks, reloads and ends.
///
/// Sending and publishing loads is in routing.hpp.
///
/// | tag   | release site      | acquire site           | publishes              | weakened                 |
/// |-------|-------------------|------------------------|------------------------|--------------------------|
/// | stage | end: both stores, | now, is_over: loads;   | the work done before   | a caller is let in       |
/// |       | the first before  | closed_meanwhile:      | it ended; the rest is  | for a while yet; without |
/// |       | a full fence      | its fence              | the fences' order only | the fence a task that no |
/// |       |                   |                        |                        | thread waits for         |
class shared {
 public:
  shared(profile settings, engine_hooks hooks);
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  // --- what the engine is

  /// Returns the profile with which the engine began. Use it for settings that cannot change; the rules have
  /// the others.
  const profile& settings() const noexcept { return settings_; }
  const engine_hooks& hooks() const noexcept { return hooks_; }
  /// Returns what stands for the engine in recorded events.
  const engine_number& number() const noexcept { return registration_.number(); }
  engine_registration& registration() noexcept { return registration_; }
  const topology& machine() const noexcept { return machine_; }
  const locality_groups& groups() const noexcept { return groups_; }
  const worker_layout& layout() const noexcept { return layout_; }
  /// Returns the CPU of the thread that made the engine.
  const std::optional<std::uint32_t>& start_cpu() const noexcept { return start_cpu_; }
  /// Returns whether this process is a process fork of the one that made the engine: then only the memory is there,
  /// not the threads, and locks may be held for ever. Cost: two loads.
  bool after_process_fork() const noexcept { return now(std::memory_order_relaxed) == stage::in_child; }
  /// Ends the child of a process fork whose thread comes back from the task, or the hook, that forked:
  /// nothing else of the parent's runs there. Call where a thread of the engine would go on. Cost: two loads.
  void end_child(int status = 0) const noexcept {
    if (after_process_fork()) [[unlikely]]
      ::_exit(status);
  }

  const swapped<rules>& newest_rules() const noexcept { return rules_; }
  /// Destroys the rules that no thread uses any more. Call after letting go of older rules, or to count them.
  void forget_old_rules() const noexcept;

  worker& seat(worker_id w) const noexcept { return *seats_[w.value]; }
  group_state& group(group_id g) const noexcept { return *group_states_[g.value]; }
  group_board& board(group_id g) const noexcept { return *boards_[g.value]; }
  /// Returns memory for the group's data, which outlives the engine as long as it is held. Throws
  /// `std::out_of_range`.
  const std::shared_ptr<node_resource>& memory(group_id g) const { return memory_.at(g.value); }
  injection_queue& injection(group_id g) const noexcept { return *injection_[g.value]; }
  /// Returns the class queues of a group's domain.
  domain_classes& classes(group_id g) const noexcept { return *classes_[groups_[g].domain]; }
  idle_workers& idle() const noexcept { return *idle_; }
  drain_gate& drains() noexcept { return drains_; }
  in_flight_limit& limit() noexcept { return limit_; }
  blocking_limit& blocking_calls() noexcept { return blocking_calls_; }
  submitter_registry& submitters() noexcept { return submitters_; }
  due_timers& timers() noexcept { return *timers_; }
  detail::dropping& dropping() noexcept { return dropping_; }
  suspended_table& suspended() noexcept { return suspended_; }
  thread_service& threads() noexcept { return *thread_service_; }
  detail::notices& notices() noexcept { return notices_; }
  const load_view& view() const noexcept { return *view_; }

  /// Returns how many workers of g have not retired; these are its first ones.
  std::uint32_t active_in(group_id g) const noexcept {
    return boards_[g.value]->active.load(std::memory_order_seq_cst); // pairs: shown
  }
  /// Returns a worker's position among those of its group.
  std::size_t index_in_group(worker_id w) const noexcept {
    return w.value - layout_.of_group(layout_[w].group).front().id.value;
  }
  bool active(worker_id w) const noexcept { return index_in_group(w) < active_in(layout_[w].group); }
  /// Returns whether the engine has ended: the workers look at nothing any more and leave.
  bool ended() const noexcept { return now() == stage::ended; }
  /// The byte to which `is_over` looks.
  const atomic<std::uint8_t>& stage_byte() const noexcept { return *stage_; }
  /// Returns whether the engine has ended, or this is the child of a process fork. Cost: a load.
  static bool is_over(const atomic<std::uint8_t>& stage_byte) noexcept {
    return stage_byte.load(std::memory_order_acquire) <= // pairs: stage
           static_cast<std::uint8_t>(stage::ended);
  }

  // --- sending a task (routing.hpp). Call from any thread.

  /// Publishes how much work the worker has now (load_levels.hpp). Cost: the two cache lines of its board
  /// entry.
  [[gnu::hot]] void publish_load(const worker_place& w) noexcept;
  /// Publishes the load of the least loaded worker of the group.
  void publish_least_of(group_id g) noexcept {
    if (group_levels_) publish_least(board(g), *group_levels_, g);
  }
  /// Sends a task to a worker of g that has not retired, or of the nearest group that has such a worker. The
  /// workers take turns.
  void send_near(task_header* t, group_id g) noexcept;
  /// Sends a task of class c to the domain of such a worker.
  void send_near(task_header* t, group_id g, task_class c) noexcept;
  /// Sends a task of that root to its class's queue, to the worker that it ran on last, or to the injection
  /// queue.
  void send_home(task_header* t, const coroutine_root& root) noexcept;

  // --- the end of tasks

  /// Reports that a task ended by an exception, which is in flight now.
  void failed() noexcept;
  /// Counts the end of a task of `phase` on a thread that has no seat any more.
  void finished_without_seat(std::uint8_t phase) noexcept;
  /// Counts that one accepted task is gone. Call it before the task counts as finished: after a drain there is room.
  void release_one(std::uint8_t phase) noexcept {
    if (limit_.counts()) [[unlikely]]
      release_counted(phase);
  }
  /// Returns whether a shutdown has begun. A shutdown that began after `enter` either sees the counted
  /// submission, or this function sees the shutdown. The fence serves the announced rules as well.
  bool closed_meanwhile() const noexcept {
    full_fence();
    return now(std::memory_order_relaxed) != stage::open;
  }

 protected:
  /// How far the engine is. The kernel writes `in_child` (wiped_byte).
  enum class stage : std::uint8_t { in_child, ended, closing, open };
  struct counts {
    std::uint64_t finished = 0;
    std::uint64_t submitted = 0;
  };

  ~shared() = default;

  stage now(std::memory_order order = std::memory_order_acquire) const noexcept { // pairs: stage
    return static_cast<stage>((*stage_).load(order));
  }
  void set(stage next) noexcept {
    (*stage_).store(static_cast<std::uint8_t>(next), std::memory_order_seq_cst); // pairs: stage
  }

  worker_id active_near(group_id g) noexcept;
  void send_to_class(task_header* t, group_id g, task_class c) noexcept;
  [[gnu::hot]] void send(task_header* t, const placement& to, segment_writer* overflow = nullptr) noexcept;
  [[gnu::hot]] void send_to_inbox(task_header* t, const placement& to,
                                  segment_writer* overflow = nullptr) noexcept;
  template <class F> void for_each_holder(const F& f) const;
  counts sum(std::uint8_t phase) const;

 private:
  [[gnu::noinline]] void release_counted(std::uint8_t phase) noexcept;

  void make_groups();
  void make_classes();
  void make_seats();

  void send_home_by_class(task_header* t, const coroutine_root& root) noexcept;
  [[gnu::hot]] void publish_one_more(const worker_place& w) noexcept;
  [[gnu::hot]] void publish(const worker_place& w, std::uint8_t level) noexcept;

 protected:
  const wiped_byte stage_{static_cast<std::uint8_t>(stage::open)};
  engine_registration registration_;
  profile settings_;
  engine_hooks hooks_;
  topology machine_;
  locality_groups groups_;
  const std::optional<std::uint32_t> start_cpu_; // of the constructing thread
  worker_layout layout_;
  mutable swapped<rules> rules_;    // mutable: a const reader may forget old ones
  atomic<bool> resumptions_return_; // to their worker, by the policy; relaxed: workers find them either way

  std::vector<std::unique_ptr<group_state>> group_states_;
  std::vector<std::shared_ptr<node_resource>> memory_; // by group
  std::vector<std::unique_ptr<group_board>> boards_;
  std::vector<injection_queue*> injection_;
  std::vector<std::unique_ptr<node_arena>> class_memory_; // by domain
  std::vector<std::unique_ptr<domain_classes>> classes_;  // by domain
  std::vector<worker*> seats_;
  std::vector<worker_queues*> queues_;
  std::vector<unsigned char> group_level_bytes_;
  std::optional<load_levels> group_levels_; // where there are several groups
  std::optional<load_view> view_;
  std::optional<due_timers> timers_;
  std::unique_ptr<idle_workers> idle_;
  thread_service* thread_service_ = nullptr; // set before any worker runs

  submitter_registry submitters_;
  suspended_table suspended_;
  drain_gate drains_;
  in_flight_limit limit_;
  blocking_limit blocking_calls_;
  atomic<std::uint64_t> failed_{0};
  detail::dropping dropping_{*this};
  atomic<std::uint32_t> turn_{0}; // of the workers that take over retired workers' tasks
  detail::notices notices_;
};

/// Returns whether queues and data lie on the nodes of their groups.
bool wants_node_memory(const shared& engine) noexcept;
/// Makes the calling thread's new memory come from the node that the group's comes from. Call from a thread of the engine.
/// Cost: a lock; where that is another node than the last time, a system call.
void prefer_memory_of(shared& engine, group_id g) noexcept;

template <class F> void shared::for_each_holder(const F& f) const {
  for (const worker* seat : seats_) f(seat->held_rules());
  submitters_.for_each([&](const submitter& s) { f(s.by); });
}

} // namespace corewise::detail
