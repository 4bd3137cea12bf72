#pragma once

#include <corewise/engine/detail/driving.hpp>
#include <corewise/engine/detail/lock.hpp>
#include <corewise/io/asio.hpp>
#include <corewise/io/detail/descriptor_waits.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace corewise::io::detail {

using corewise::detail::atomic;
using corewise::detail::driving;

/// The connections of listeners. Relaxed, all: numbers.
struct connection_counts {
  atomic<std::uint64_t> open{0};
  atomic<std::uint64_t> accepted{0};
  atomic<std::uint64_t> refused{0};
};

/// The `io_context` of one locality group, in which only the group's workers look. It has work as long as it
/// lives, and is never stopped. The engine co-owns it, so it lives as long as any of its tasks.
///
/// No code of users runs while a worker looks into it: what is ready goes into the list that the worker hands
/// on.
///
/// | tag       | release site     | acquire site        | publishes             | weakened              |
/// |-----------|------------------|---------------------|-----------------------|-----------------------|
/// | interrupt | interrupt: store | interrupt: exchange | nothing; order only:  | a sleeper misses the  |
/// |           | when it has run  |                     | it, a sleeper's token | token of one that was |
/// |           |                  |                     |                       | taken for it          |
class group_context final : public asio::io_context, public driver {
 public:
  /// Throws `system_error` where the system refuses what an `io_context` needs.
  group_context(runtime& engine, group_id g);
  ~group_context() override;

  group_id group() const noexcept { return group_; }

  /// Returns the sums over all listeners, those that are gone included.
  connection_counts& connections() noexcept { return connections_; }

  // --- operations. Call from any thread.

  void begin_operation() noexcept {
    my_part().number.fetch_add(1, std::memory_order_relaxed);
    if (corewise::detail::this_execution.engine != &engine_) driving::begun(engine_, group_);
  }
  void end_operation() noexcept { my_part().number.fetch_sub(1, std::memory_order_relaxed); }
  /// Returns how many operations wait for their events; while some begin and end, about how many.
  std::uint64_t operations() const noexcept {
    std::int64_t sum = 0;
    for (const part& p : operations_) sum += p.number.load(std::memory_order_relaxed);
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, sum));
  }

  /// Returns the list in which an operation that begins on the calling thread says for what it waits.
  descriptor_waits& waits_here() noexcept { return my_part().waits; }
  std::vector<socket_wait> waits(std::size_t most) const override;

  // --- tasks. Call from any thread.

  /// Returns whether the calling thread runs a task of this group.
  bool runs_here() const noexcept { return driving::running_in(engine_) == group_; }
  bool is_of(const runtime* e) const noexcept { return &engine_ == e; }
  /// Returns whether the engine has ended: nothing looks into this context any more.
  bool ended() const noexcept { return ended_.load(std::memory_order_relaxed); }
  /// Returns whether the calling thread looks into this context.
  bool polled_here() const noexcept { return polled_ == this; }
  /// Makes a task that calls `f`, which completes an operation: without memory from the context's own. While
  /// that is used up as well, waits for other tasks to end.
  template <class F> task_header* make_completion(F&& f) noexcept;
  /// Has a coroutine go on whose operation has ended. Where the calling thread looks into a context of its engine, it goes
  /// into the list of what was found.
  static void resume(corewise::detail::resumption& coroutine) noexcept;
  /// Runs a task of the group that goes on with accepted work. Nothing refuses it. `name`: null, or that of a hint.
  void go_on(task_header* t, task_class c, const char* name) noexcept;
  /// Submits a task to the group. Throws `system_error` (`no_buffer_space`) while `limits.in_flight` tasks are in
  /// flight. Once the engine shuts down, and in the child of a process fork, the task is destroyed, unrun.
  void submit(task_header* t, task_class c, const char* name);

  // --- the driver

  std::size_t poll(std::size_t most, ready_tasks& found) noexcept override;
  void sleep(std::optional<std::chrono::nanoseconds> time, ready_tasks& found) noexcept override;
  void interrupt() noexcept override;
  void look_after() noexcept override;
  bool outstanding() const noexcept override { return operations() != 0; }
  driver_counts count() const noexcept override;
  void end() noexcept override;

 private:
  /// A part of what many threads change: each has a part of its own, if there are few.
  struct alignas(64) part {
    atomic<std::int64_t> number{0};
    descriptor_waits waits;
  };
  part& my_part() noexcept {
    const auto thread = reinterpret_cast<std::uintptr_t>(&corewise::detail::this_execution);
    return operations_[(thread >> 12) % operations_.size()]; // their stacks lie odd numbers of pages apart
  }

  class looking;
  void count_look(std::size_t events) noexcept;
  template <class T> struct interrupt_allocator;

  std::size_t look_once(bool sleeps) noexcept;
  void nap(std::optional<std::chrono::nanoseconds> time) noexcept;
  void refuse() noexcept;
  void arm(std::chrono::nanoseconds time) noexcept;
  void await_alarm();

  /// A block for a task where the system has no memory.
  struct spare_block {
    static constexpr std::size_t room = 512;
    alignas(std::max_align_t) std::byte memory[room];
    spare_block* next = nullptr;
  };
  template <class F> struct spare_task;
  spare_block* take_spare() noexcept;
  void give_spare(spare_block* block) noexcept;
  static void wait_for_memory() noexcept;

  /// The context in which the calling thread looks.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local group_context* polled_;

  runtime& engine_;
  const group_id group_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor alarm_; // a timerfd, for the sentinel's sleep
  std::int64_t armed_ns_ = 0;            // the holder's: when it rings
  ready_tasks* found_ = nullptr;         // the holder's
  std::uint8_t single_looks_ = 0;        // the holder's: looks that take one event
  bool said_ = false;                    // the holder's: that calls are refused
  atomic<bool> refused_{false};          // relaxed: the kernel has refused what sleeps need, and will again
  std::array<part, 16> operations_;
  corewise::detail::mutex spares_mutex_;
  spare_block* spares_ = nullptr; // guarded
  std::array<spare_block, 32> spare_blocks_;
  atomic<std::uint64_t> polls_{0}; // the holder's, and the next; relaxed: numbers
  atomic<std::uint64_t> events_{0};
  atomic<bool> ended_{false};        // relaxed: a flag
  atomic<bool> interrupting_{false}; // the memory below is in use
  alignas(std::max_align_t) std::byte interrupt_memory_[256];
  alignas(64) connection_counts connections_;
};

/// A task in a block of the context.
template <class F> struct group_context::spare_task : task_header {
  template <class G>
  spare_task(G&& g, group_context& c, spare_block* b) : function(std::forward<G>(g)),
                                                        of(c),
                                                        block(b) {
    act = &perform;
  }
  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify)
      return corewise::detail::this_execution.kind = corewise::detail::kind_name<F>(), false;
    struct owner {
      spare_task* self;
      ~owner() {
        group_context& c = self->of;
        spare_block* const b = self->block;
        std::destroy_at(self);
        c.give_spare(b);
      }
    } const own{static_cast<spare_task*>(t)};
    if (action == task_action::run) static_cast<void>(own.self->function());
    return true;
  }

  F function;
  group_context& of;
  spare_block* block;
};

template <class F> task_header* group_context::make_completion(F&& f) noexcept {
  using task = spare_task<std::decay_t<F>>;
  for (;;) {
    try {
      return make_closure(std::forward<F>(f));
    } catch (const std::bad_alloc&) { // it has not moved `f`
      if constexpr (sizeof(task) <= spare_block::room && alignof(task) <= alignof(std::max_align_t))
        if (spare_block* const block = take_spare())
          return ::new (static_cast<void*>(block->memory)) task(std::forward<F>(f), *this, block);
      wait_for_memory();
    }
  }
}

} // namespace corewise::io::detail
