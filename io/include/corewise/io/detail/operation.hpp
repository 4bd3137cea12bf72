#pragma once

#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/timer_node.hpp>
#include <corewise/io/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

// How a coroutine of an engine waits for an operation of Asio.
//
// Invariant: the coroutine goes on once, when the operation has returned and no thread will touch it any more.
//
// `operation` lies in the coroutine's frame. Its word counts those that use it:
//
//     the starter      from the beginning until Asio's function has returned
//     the completion   until the handler has been called, or was destroyed unrun
//     a step           of a composed operation, while it runs
//     a cancellation   from the stop until it has told Asio
//     the timer        from the beginning until it is cancelled, or has told Asio
//
// The last of them to let go has the coroutine go on. If that is the starter, the coroutine was never suspended. So no
// buffer goes while the kernel, or another thread, may still use it.
//
// In the engine's own contexts a stop, or a timer, only queues the cancellation as a task. So a thread that requests a
// stop does not call Asio. Starting, steps and cancellation exclude each other by a lock of the operation, since what
// Asio keeps for a cancellation is not made for several threads. A step may be made within another. Asio forgets a
// cancellation that comes between two steps, so it is told once more after each step until the operation has ended.
//
// An operation of a context that is not the engine's is cancelled there, since that may be made for one thread. It may end
// after the engine: then its frame is kept (`keep`), and nothing wakes its coroutine.
//
// | tag  | release site          | acquire site    | publishes                | weakened                       |
// |------|-----------------------|-----------------|--------------------------|--------------------------------|
// | left | let_go_last:          | let_go_last:    | the result, and all that | the coroutine reads a result   |
// |      | fetch_sub             | last fetch_sub  | was done before          | that is not there yet          |
// | step | ~locked: store        | locked: CAS     | what Asio keeps for a    | two threads change it at once  |
// |      |                       |                 | cancellation, the flags  |                                |

namespace corewise::io::detail {

using corewise::detail::suspension;
using corewise::detail::wait_record;

class operation;

/// The common data of operations of one type.
struct operation_record : wait_record {
  /// Notes for what an operation waits that may not have noted it itself. Null: it has.
  void (*name)(operation& of) noexcept;
};

/// The data of an operation that may be ended early, by a stop or by the end of its time.
class early_end {
 public:
  early_end(operation& of, std::optional<std::chrono::nanoseconds> within) noexcept;

  asio::cancellation_slot slot() noexcept { return signal_.slot(); }
  /// Returns whether the operation's time was over, before any stop.
  bool expired() const noexcept { return expired_; }

 private:
  friend class operation;

  /// A task that cancels the operation.
  struct canceller : corewise::detail::resumption {
    canceller(operation& o, bool time) noexcept : of(o), by_time(time) {}
    static bool perform(task_header* t, task_action action);
    operation& of;
    const bool by_time;
  };

  asio::cancellation_signal signal_;
  /// Guarded: the operation's, until it has ended, if it is not of an engine's service.
  std::optional<asio::any_io_executor> elsewhere_;
  std::optional<std::chrono::nanoseconds> within_;
  std::uint32_t posted_ = 0; // guarded: cancellations that are on their way to `elsewhere_`
  bool timed_ = false;       // guarded by the operation's lock: the timer was set
  bool expired_ = false;     // guarded: the first cancellation was that of the time
  canceller by_stop_;
  canceller by_time_;
  corewise::detail::timer_node timer_;
};

/// The part that all operations have in common, whatever their results.
class operation : protected suspension {
 public:
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // --- the steps of the operation. Any thread.

  /// Calls `f()` as a step.
  template <class F> void step(F&& f) noexcept {
    hold();
    {
      const locked here(*this);
      forget_wait();
      ++depth_;
      perform(f);
      if (--depth_ == 0) name_wait();
    }
    let_go();
  }
  /// Returns whether the calling thread makes so many steps within each other that a worker had better make the next one.
  bool is_deep() const noexcept {
    constexpr std::uint32_t most = 16;
    return is_held_here() && depth_ >= most && context_ != nullptr && is_own_context();
  }
  /// Returns whether the calling thread looks into the driver of the operation's group, for its engine.
  bool is_polled() const noexcept {
    return context_ != nullptr && context_->polled_here() && is_own_context();
  }
  /// Has the worker that takes the coroutine up make a step, and go on with the coroutine if that was the last.
  template <class F> void make_step_later(F&& f) { group_context::resume(later(std::forward<F>(f))); }
  /// Returns whether tasks wait on the calling worker, one of the coroutine's engine.
  bool others_wait_here() const noexcept {
    return this->root != nullptr && driving::others_wait(*this->root);
  }
  /// Makes a step when these have run. Call where they wait.
  template <class F> void make_step_behind(F&& f) { driving::queue_behind(later(std::forward<F>(f))); }
  /// Notes that the handler was called, or is gone.
  void complete() noexcept;
  /// Notes the executor of the socket, or of whatever the operation is of.
  template <class E> void note_executor(const E& of) {
    if (context_ != nullptr) return;
    if (const executor* const known = own_executor(of); known != nullptr)
      context_ = &known->of();
    else if (early_ != nullptr && !early_->elsewhere_)
      early_->elsewhere_.emplace(asio::prefer(of, asio::execution::outstanding_work.tracked));
  }
  /// Returns whether the engine of the noted executor has ended: then nothing calls the handler any more.
  bool comes_too_late() const noexcept { return context_ != nullptr && context_->ended(); }
  /// Notes for what the operation waits from now on, and the address to which it connects or sends. Call within a step.
  void note_wait(corewise::wait_kind kind, int descriptor, const sockaddr* peer = nullptr,
                 std::size_t size = 0) noexcept;
  /// Limits one wait of an operation that has no time of its own: it is cancelled after `time`, unless `end_limit` comes
  /// before. `spare` is for one that cannot end early otherwise, and lives until it has ended; no other one uses it. Where
  /// the engine has ended and the frame is kept, both do nothing. Call both within a step.
  void limit_wait(std::optional<early_end>& spare, std::chrono::nanoseconds time) noexcept;
  void end_limit() noexcept;
  /// Returns whether its time, or that of a wait, was over.
  bool expired() const noexcept { return early_ != nullptr && early_->expired(); }
  asio::execution_context& context() const noexcept {
    if (context_ != nullptr) return *context_;
    return asio::query(asio::system_executor(), asio::execution::context);
  }
  asio::cancellation_slot slot() noexcept {
    return early_ != nullptr ? early_->slot() : asio::cancellation_slot();
  }

  /// Returns memory in the frame, or else of the heap. Throws `std::bad_alloc`.
  void* allocate(std::size_t bytes) {
    if (bytes <= sizeof memory_ && !std::exchange(memory_taken_, true)) return memory_;
    return ::operator new(bytes);
  }
  void deallocate(void* at) noexcept {
    if (at == memory_)
      memory_taken_ = false;
    else
      ::operator delete(at);
  }

  /// Returns whether the frame is to stay, since the operation will end after its engine. Call when the engine has no
  /// threads any more.
  bool keep() noexcept {
    const locked here(*this, /*tells=*/false);
    const bool comes_later = !completed_ || (early_ != nullptr && early_->posted_ != 0);
    return comes_later && (kept_ = true);
  }

 protected:
  operation() noexcept = default;
  ~operation() { this->free_entry(); }

  /// Has the operation named that waits now, unless its steps do that. Call with the lock held.
  void name_wait() noexcept {
    const auto name = static_cast<const operation_record*>(record)->name;
    if (name != nullptr && !completed_ && waits_ == nullptr) name(*this);
  }

  /// Begins with `start()`, which calls an initiating function of Asio; then calls `begun()`. Returns whether the
  /// coroutine is suspended; then do not touch it any more. `early`: null if it is not to end early.
  template <class Start, class Begun> bool begin(early_end* early, const Start& start, const Begun& begun) {
    this->take_entry();
    early_ = early;
    word_.store(2, std::memory_order_relaxed); // the starter, and the completion
    {
      const locked here(*this);
      perform(start); // a part of it may be under way when it throws
      if (early != nullptr && early->within_) set_timer(*early->within_);
    }
    begun();
    return !let_go_last();
  }
  /// Has the operation cancelled, if it still runs. Call once, from any thread.
  void cancel() noexcept;
  /// Rethrows what a step threw, if one did.
  void rethrow_thrown() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  friend class early_end;

  /// Holds the operation's lock, which its holder may take again.
  class locked {
   public:
    /// `tells`: Asio hears of a cancellation at the end.
    explicit locked(operation& of, bool tells = true) noexcept
        : of_(of),
          tells_(tells),
          again_(of.is_held_here()) {
      if (again_) return;
      const void* none = nullptr;
      while (!of_.holder_.compare_exchange_weak(none, me(), std::memory_order_acquire, // pairs: step
                                                std::memory_order_relaxed)) {
        none = nullptr;
        std::this_thread::yield();
      }
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ~locked() {
      if (again_) return;
      if (of_.cancelled_ && tells_) [[unlikely]]
        of_.tell_cancelled();
      of_.holder_.store(nullptr, std::memory_order_release); // pairs: step
    }

   private:
    operation& of_;
    const bool tells_;
    const bool again_;
  };
  class posted_cancellation;

  template <class F> struct later_step : corewise::detail::suspension_step {
    template <class G> later_step(operation& o, G&& f) : suspension_step(o), function(std::forward<G>(f)) {
      o.stand_in(*this, &perform);
    }
    static bool perform(task_header* t, task_action action) {
      if (action == task_action::identify)
        return corewise::detail::this_execution.kind = "a step of an I/O operation", false;
      auto* const self = static_cast<later_step*>(t);
      auto& of = static_cast<operation&>(self->of);
      {
        const locked here(of);
        of.forget_wait();
        F called(std::move(self->function));
        std::destroy_at(self);
        of.deallocate(self);
        if (action == task_action::run) of.perform(called), of.name_wait();
      }
      if (!of.let_go_last()) return false;
      suspension& waits = of; // it goes on, or is dropped, in place of the step
      return waits.act(&waits, action);
    }
    F function;
  };

  template <class F> later_step<std::decay_t<F>>& later(F&& f) {
    void* const at = allocate(sizeof(later_step<std::decay_t<F>>));
    hold();
    return *::new (at) later_step<std::decay_t<F>>(*this, std::forward<F>(f));
  }

  static const void* me() noexcept { return &corewise::detail::this_execution; }
  /// Returns whether the calling thread holds the lock.
  bool is_held_here() const noexcept { return holder_.load(std::memory_order_relaxed) == me(); }

  /// Makes a task that is queued in place of the suspended coroutine. As a part of it, it is not counted.
  void stand_in(corewise::detail::resumption& made, bool (*acts)(task_header*, task_action)) const noexcept {
    made.act = acts;
    made.root = this->root;
    made.phase = this->phase;
    made.run_as = this->root->run_as;
  }
  void hold() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  bool let_go_last() noexcept { return word_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: left
  void let_go() noexcept {
    if (let_go_last() && !kept_) group_context::resume(*this); // a frame that is kept stays
  }
  /// A step that throws, the first one too, ends its operation, if it has destroyed the handler.
  template <class F> [[gnu::always_inline]] void perform(F& f) noexcept {
    try {
      f();
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }
  [[gnu::noinline, gnu::cold]] void tell_cancelled() noexcept {
    if (!completed_) early_->signal_.emit(asio::cancellation_type::all);
  }
  /// Notes that it does not wait now. Call with the lock held.
  void forget_wait() noexcept {
    if (waits_ != nullptr) std::exchange(waits_, nullptr)->remove(wait_);
  }
  /// Returns whether the event comes in a context of the coroutine's engine. Call where there is a context.
  bool is_own_context() const noexcept {
    return this->root != nullptr && context_->is_of(this->root->engine);
  }
  void set_timer(std::chrono::nanoseconds within) noexcept;
  void send_cancellation(bool by_time) noexcept;
  void cancel_there(bool by_time) noexcept;
  void note_cancelled(bool by_time) noexcept;

  atomic<std::uint32_t> word_{0};
  bool completed_ = false; // guarded by the lock
  bool kept_ = false;      // guarded
  bool cancelled_ = false; // guarded
  bool memory_taken_ = false;
  std::uint32_t depth_ = 0;             // guarded: steps that are within each other
  atomic<const void*> holder_{nullptr}; // of the lock
  group_context* context_ = nullptr;    // in which the event comes; null: in another one
  early_end* early_ = nullptr;
  std::exception_ptr thrown_; // guarded
  descriptor_wait wait_;
  descriptor_waits* waits_ = nullptr; // guarded: the list in which `wait_` is
  alignas(std::max_align_t) std::byte memory_[208];
};

/// Whether a function only hands the result to the operation's own handler. Asio binds it to its results.
template <class F> inline constexpr bool only_completes = false;
template <class F>
  requires requires(F f) { typename std::decay_t<decltype(f.handler_)>::operations_own; }
inline constexpr bool only_completes<F> = true;

/// The executor of an operation's handlers: it runs them where they are, as steps. So the steps of a composed
/// operation need no task each. A step that is posted runs within the one that posts it: composed operations post
/// so that a user's handler is not called where the operation is begun, and here that does no harm. After 16 within each
/// other a worker makes the next one, so that an operation may post as often as it likes.
///
/// Where a worker looks into the driver, only the end of an operation is noted. A further step, which may parse
/// what has come, is made by the worker that takes the coroutine up.
class step_executor {
 public:
  explicit step_executor(operation& of) noexcept : of_(&of) {}

  template <class F> void execute(F&& f) const {
    if constexpr (!only_completes<std::decay_t<F>>) {
      if (of_->is_polled() || of_->is_deep()) {
        try {
          return of_->make_step_later(std::forward<F>(f));
        } catch (const std::bad_alloc&) { // it has not moved `f`
          return make_step(std::forward<F>(f));
        }
      }
    }
    make_step(std::forward<F>(f));
  }
  void note_wait(corewise::wait_kind kind, int descriptor, const sockaddr* peer = nullptr,
                 std::size_t size = 0) const noexcept {
    of_->note_wait(kind, descriptor, peer, size);
  }
  operation& of() const noexcept { return *of_; }
  asio::execution_context& query(asio::execution::context_t /*what*/) const noexcept {
    return of_->context();
  }
  step_executor require(asio::execution::blocking_t::never_t /*how*/) const noexcept { return *this; }
  bool operator==(const step_executor&) const noexcept = default;
  bool operator!=(const step_executor&) const noexcept = default;

 private:
  template <class F> void make_step(F&& f) const {
    of_->step([&] {
      std::decay_t<F> called(std::forward<F>(f));
      called();
    });
  }

  operation* of_;
};

template <class T> struct step_allocator {
  using value_type = T;

  explicit step_allocator(operation& o) noexcept : of(&o) {}
  template <class U> step_allocator(const step_allocator<U>& other) noexcept : of(other.of) {}

  T* allocate(std::size_t n) const { return static_cast<T*>(of->allocate(n * sizeof(T))); }
  void deallocate(T* at, std::size_t /*n*/) const noexcept { of->deallocate(at); }
  friend bool operator==(const step_allocator&, const step_allocator&) noexcept = default;

  operation* of;
};

} // namespace corewise::io::detail
