#pragma once

#include <corewise/engine/detail/suspension.hpp>
#include <corewise/engine/detail/timer_node.hpp>
#include <corewise/io/executor.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
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
// The last to leave has the coroutine go on. If that is the starter, the coroutine was never suspended. So no
// buffer goes while the kernel, or another thread, may still use it.
//
// A stop, or a timer, only queues the cancellation as a task. So a thread that requests a stop never calls Asio. Starting, steps and cancellation exclude each other by a lock of the operation,
// since what Asio keeps for a cancellation is not made for several threads. A step may be made within
// another.
//
// | tag  | release site          | acquire site    | publishes                | weakened                       |
// |------|-----------------------|-----------------|--------------------------|--------------------------------|
// | left | release: fetch_sub    | release: the    | the result, and all that | the coroutine reads a result   |
// |      |                       | last fetch_sub  | the user did             | that is not there yet          |
// | step | unlock: store         | lock: exchange  | what Asio keeps for a    | two threads change it at once  |
// |      |                       |                 | cancellation             |                                |

namespace corewise::io::detail {

using corewise::detail::suspension;
using corewise::detail::wait_record;

class operation;

/// What an operation has that may be ended early, by a stop or by the end of its time.
class early_end {
 public:
  early_end(operation& of, std::optional<std::chrono::nanoseconds> within) noexcept;

  asio::cancellation_slot slot() noexcept { return signal_.slot(); }
  /// Returns whether the operation's time was over.
  bool expired() const noexcept { return expired_; }

 private:
  friend class operation;

  /// A task that cancels the operation. Its coroutine is still counted as in flight, so it is not counted.
  struct canceller : corewise::detail::resumption {
    early_end* of = nullptr;
  };

  static bool cancel(task_header* t, task_action action);
  static bool expire(task_header* t, task_action action);
  void prepare(canceller& made, bool (*act)(task_header*, task_action)) noexcept;

  operation& of_;
  asio::cancellation_signal signal_;
  std::optional<asio::any_io_executor> elsewhere_; // the operation's, if it is not of an engine's service
  std::optional<std::chrono::nanoseconds> within_;
  bool timed_ = false;   // guarded by the operation's lock: the timer was set
  bool expired_ = false; // guarded
  canceller stopping_;
  canceller expiring_;
  corewise::detail::timer_node timer_;
};

/// What all operations have, whatever their results.
class operation : protected suspension {
 public:
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // --- the steps of the operation. Any thread.

  /// Calls `f()` as a step.
  template <class F> void step(F&& f) {
    enter();
    {
      const locked here(*this);
      std::forward<F>(f)();
    }
    leave();
  }
  /// Returns whether the calling thread looks into the driver of the operation's group, for its engine.
  bool is_polled() const noexcept {
    return context_ != nullptr && context_->polled_here() && this->root != nullptr;
  }
  /// Has the worker that takes the coroutine up make a step, and go on with the coroutine if that was the last.
  template <class F> void make_step_later(F&& f) {
    using later = later_step<std::decay_t<F>>;
    void* const at = allocate(sizeof(later));
    enter();
    context_->resume(*::new (at) later(*this, std::forward<F>(f)));
  }
  /// Notes that the handler was called, or is gone.
  void complete() noexcept;
  /// Notes the executor of the socket, or of whatever the operation is of.
  template <class E> void note_executor(const E& of) {
    if constexpr (std::is_same_v<E, executor>)
      context_ = &of.of();
    else if (context_ == nullptr && early_ != nullptr && !early_->elsewhere_)
      early_->elsewhere_.emplace(asio::prefer(of, asio::execution::outstanding_work.tracked));
  }
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

 protected:
  operation() noexcept = default;
  ~operation() { this->free_entry(); }

  /// Begins with `start()`, which calls an initiating function of Asio; then calls `begun()`. Returns whether the
  /// coroutine is suspended; then do not touch it any more. `early`: null if it is not to end early.
  template <class Start, class Begun> bool begin(early_end* early, const Start& start, const Begun& begun) {
    this->take_entry();
    early_ = early;
    word_.store(2, std::memory_order_relaxed); // the starter, and the completion
    {
      const locked here(*this);
      start();
      if (early != nullptr) set_timer();
    }
    begun();
    return !left_last();
  }
  /// Has the operation cancelled, if it still runs. Call once, from any thread.
  void cancel() noexcept;

 private:
  friend class early_end;

  /// Holds the operation's lock, which its holder may take again.
  class locked {
   public:
    explicit locked(operation& of) noexcept
        : of_(of),
          again_(of.holder_.load(std::memory_order_relaxed) == me()) {
      if (again_) return;
      const void* nobody = nullptr;
      while (!of_.holder_.compare_exchange_weak(nobody, me(), std::memory_order_acquire, // pairs: step
                                                std::memory_order_relaxed)) {
        nobody = nullptr;
        std::this_thread::yield();
      }
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
    ~locked() {
      if (!again_) of_.holder_.store(nullptr, std::memory_order_release); // pairs: step
    }

   private:
    static const void* me() noexcept { return &corewise::detail::this_execution; }

    operation& of_;
    const bool again_;
  };

  template <class F> struct later_step : corewise::detail::resumption {
    template <class G> later_step(operation& o, G&& f) : function(std::forward<G>(f)), of(o) {
      act = &perform;
      root = static_cast<suspension&>(o).root;
      phase = static_cast<suspension&>(o).phase;
      run_as = static_cast<suspension&>(o).run_as;
    }
    static bool perform(task_header* t, task_action action) {
      if (action == task_action::identify)
        return corewise::detail::this_execution.kind = "a step of an I/O operation", false;
      auto* const self = static_cast<later_step*>(t);
      operation& of = self->of;
      {
        const locked here(of);
        F called(std::move(self->function));
        std::destroy_at(self);
        of.deallocate(self);
        if (action == task_action::run) called();
      }
      if (!of.left_last()) return false;
      suspension& waits = of; // it goes on, or is dropped, in place of the step
      return waits.act(&waits, action);
    }
    F function;
    operation& of;
  };

  void enter() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }
  bool left_last() noexcept { return word_.fetch_sub(1, std::memory_order_acq_rel) == 1; } // pairs: left
  void leave() noexcept {
    if (!left_last()) return;
    if (context_ != nullptr)
      context_->resume(*this);
    else
      this->wake();
  }
  void set_timer() noexcept;
  void emit(bool by_time) noexcept;

  atomic<std::uint32_t> word_{0};
  bool completed_ = false; // guarded by the lock
  bool memory_taken_ = false;
  atomic<const void*> holder_{nullptr}; // of the lock
  group_context* context_ = nullptr;    // of the group where the coroutine goes on; null: elsewhere
  early_end* early_ = nullptr;
  alignas(std::max_align_t) std::byte memory_[208];
};

/// Whether a function only hands the result to the operation's own handler. Asio binds it to its results.
template <class F> inline constexpr bool only_completes = false;
template <class F>
  requires requires(F f) { typename std::decay_t<decltype(f.handler_)>::operations_own; }
inline constexpr bool only_completes<F> = true;

/// The executor of an operation's handlers: it runs them where they are, as steps. So the steps of a composed
/// operation need no task each. A step that is posted runs within the one that posts it: composed operations post
/// so that a user's handler is not called where the operation is begun, and here that does no harm.
///
/// Where a worker looks into the driver, only the end of an operation is noted. A further step, which may parse
/// what has come, is made by the worker that takes the coroutine up.
class step_executor {
 public:
  explicit step_executor(operation& of) noexcept : of_(&of) {}

  template <class F> void execute(F&& f) const {
    if constexpr (!only_completes<std::decay_t<F>>) {
      if (of_->is_polled()) {
        try {
          return of_->make_step_later(std::forward<F>(f));
        } catch (const std::bad_alloc&) { // it has not moved `f`
          return make_step(std::forward<F>(f));
        }
      }
    }
    make_step(std::forward<F>(f));
  }
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

template <class... Results> class handler;

/// What a handler is called with when its operation was given up before it ended; nothing where that cannot be
/// made. A result that is a tuple is that of `asio::as_tuple`.
template <class Results> struct aborted_results {
  static constexpr bool can_be_made = false;
};
template <class... Rest>
  requires std::is_default_constructible_v<std::tuple<Rest...>>
struct aborted_results<std::tuple<error_code, Rest...>> {
  static constexpr bool can_be_made = true;
  static auto make() { return std::tuple<error_code, Rest...>(asio::error::operation_aborted, Rest()...); }
};
template <class... Rest>
  requires aborted_results<std::tuple<Rest...>>::can_be_made
struct aborted_results<std::tuple<std::tuple<Rest...>>> {
  static constexpr bool can_be_made = true;
  static std::tuple<std::tuple<Rest...>> make() { return {aborted_results<std::tuple<Rest...>>::make()}; }
};

/// An operation whose handler is called with `Results`.
template <class... Results> class operation_with : public operation {
 public:
  using results = std::tuple<std::decay_t<Results>...>;

  template <class... Args> void complete_with(Args&&... args) noexcept {
    results_.emplace(std::forward<Args>(args)...);
    complete();
  }

 protected:
  static constexpr bool tells_error =
      std::is_same_v<std::tuple_element_t<0, std::tuple<std::decay_t<Results>..., void>>, error_code>;
  static constexpr bool tells_exception =
      std::is_same_v<std::tuple_element_t<0, std::tuple<std::decay_t<Results>..., void>>, std::exception_ptr>;

  /// Returns what the handler was called with, less the error, which goes to `error`. Throws it where that is null.
  auto take(error_code* error) {
    this->resumed();
    if (!results_) note_aborted();
    if constexpr (tells_error) {
      const error_code& why = std::get<0>(*results_);
      if (error != nullptr)
        *error = why;
      else if (why)
        throw system_error(why);
      return rest(std::make_index_sequence<sizeof...(Results) - 1>());
    } else if constexpr (tells_exception) {
      if (std::get<0>(*results_)) std::rethrow_exception(std::get<0>(*results_));
      return rest(std::make_index_sequence<sizeof...(Results) - 1>());
    } else {
      return all();
    }
  }

  /// The time was over: what was cancelled says so.
  void note_expired() {
    if constexpr (tells_error) {
      if (results_ && std::get<0>(*results_) == asio::error::operation_aborted)
        std::get<0>(*results_) = asio::error::timed_out;
    } else if constexpr (aborted_results<results>::can_be_made) { // of `as_tuple`
      if (results_ && std::get<0>(std::get<0>(*results_)) == asio::error::operation_aborted)
        std::get<0>(std::get<0>(*results_)) = asio::error::timed_out;
    }
  }
  /// The operation was given up, or never begun.
  void note_aborted() {
    if constexpr (aborted_results<results>::can_be_made)
      results_.emplace(aborted_results<results>::make());
    else
      throw system_error(asio::error::operation_aborted);
  }

  std::optional<results> results_;

 private:
  template <std::size_t... At> auto rest(std::index_sequence<At...> /*at*/) {
    if constexpr (sizeof...(At) == 1)
      return (std::get<At + 1>(std::move(*results_)), ...);
    else if constexpr (sizeof...(At) != 0)
      return std::tuple(std::get<At + 1>(std::move(*results_))...);
  }
  auto all() {
    if constexpr (sizeof...(Results) == 1)
      return std::get<0>(std::move(*results_));
    else if constexpr (sizeof...(Results) != 0)
      return std::move(*results_);
  }
};

/// The handler of an operation. A handler that is destroyed unrun ends its operation without a result.
template <class... Results> class handler {
 public:
  using operations_own = void;
  using executor_type = step_executor;
  using allocator_type = step_allocator<void>;
  using cancellation_slot_type = asio::cancellation_slot;

  explicit handler(operation_with<Results...>& of) noexcept : of_(&of) {}
  handler(handler&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  handler& operator=(handler&&) = delete;
  ~handler() {
    if (of_ != nullptr) of_->complete();
  }

  template <class... Args> void operator()(Args&&... args) {
    std::exchange(of_, nullptr)->complete_with(std::forward<Args>(args)...);
  }

  operation& of() const noexcept { return *of_; }
  executor_type get_executor() const noexcept { return step_executor(*of_); }
  allocator_type get_allocator() const noexcept { return allocator_type(*of_); }
  cancellation_slot_type get_cancellation_slot() const noexcept { return of_->slot(); }

 private:
  operation_with<Results...>* of_;
};

/// Awaits what an initiating function of Asio begins. Lives in the awaiting frame.
template <corewise::wait_kind Kind, class Initiation, class Arguments, class... Results>
class [[nodiscard]] awaited_operation : public operation_with<Results...> {
  using base = operation_with<Results...>;

 public:
  awaited_operation(Initiation initiation, Arguments arguments, error_code* error)
      : initiation_(std::move(initiation)),
        arguments_(std::move(arguments)),
        error_(error) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) {
    this->suspend(suspended, how);
    return this->begin(nullptr, [this] { start(); }, [] {});
  }
  auto await_resume() { return this->take(error_); }

 protected:
  void start() {
    std::apply(
        [this](auto&... args) { std::move(initiation_)(handler<Results...>(*this), std::move(args)...); },
        arguments_);
  }
  error_code* error() const noexcept { return error_; }

  /// The end of an engine ends the operations of its contexts before it withdraws coroutines. What still waits
  /// is an operation elsewhere, whose thread will write into the frame.
  static bool withdraw(suspension& /*s*/) noexcept { return true; }
  [[gnu::visibility("hidden")]] static constexpr wait_record how{Kind, &withdraw,
                                                                 corewise::detail::wait_end::settle};

 private:
  Initiation initiation_;
  Arguments arguments_;
  error_code* const error_;
};

/// Awaits the same until a stop, or for a time.
template <corewise::wait_kind Kind, class Initiation, class Arguments, class... Results>
class [[nodiscard]] limited_operation : public awaited_operation<Kind, Initiation, Arguments, Results...> {
  using base = awaited_operation<Kind, Initiation, Arguments, Results...>;

 public:
  limited_operation(Initiation initiation, Arguments arguments, error_code* error, std::stop_token token,
                    std::optional<std::chrono::nanoseconds> within)
      : base(std::move(initiation), std::move(arguments), error),
        early_(*this, within),
        token_(std::move(token)) {}

  /// After a stop nothing is begun, unless only the operation itself can make its result.
  bool await_ready() const noexcept {
    return aborted_results<typename base::results>::can_be_made && token_.stop_requested();
  }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) {
    this->suspend(suspended, base::how);
    return this->begin(
        &early_, [this] { this->start(); },
        [this] {
          if (token_.stop_possible()) stopper_.emplace(token_, stopper{this});
        });
  }
  auto await_resume() {
    stopper_.reset(); // waits for it, unless this thread is in it
    if (early_.expired()) this->note_expired();
    return this->take(this->error());
  }

 private:
  struct stopper {
    limited_operation* self;
    void operator()() const noexcept { self->cancel(); }
  };

  early_end early_;
  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> stopper_;
};

/// Whether a handler's steps may be made where the operation is begun: it is a handler as above, or that of an
/// operation that is composed for one.
template <class Handler>
inline constexpr bool runs_steps =
    std::is_same_v<typename asio::associated_executor<std::decay_t<Handler>, executor>::type, step_executor>;

} // namespace corewise::io::detail

#ifdef COREWISE_STANDALONE_ASIO
namespace asio {
#else
namespace boost::asio {
#endif

/// Whatever asks for a handler's executor names that of the socket.
template <class... Results, class E>
struct associated_executor<corewise::io::detail::handler<Results...>, E> {
  using type = corewise::io::detail::step_executor;
  static type get(const corewise::io::detail::handler<Results...>& h, const E& of) noexcept {
    h.of().note_executor(of);
    return h.get_executor();
  }
  static type get(const corewise::io::detail::handler<Results...>& h) noexcept { return h.get_executor(); }
};
}
