#pragma once

#include <corewise/engine/detail/recycled.hpp>
#include <corewise/engine/detail/task_header.hpp>
#include <corewise/engine/detail/timer_node.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace corewise {

namespace detail {

/// A call that `after` or `every` makes, with its timer. Invariant: the engine's side and the handle own it
/// together, and the last of the two destroys it.
///
///     waiting ──(its time)──► running ──► ended, or waiting for its next time
///        └───────cancel───────────┴─────► cancelled
///
/// | tag   | release site       | acquire site       | publishes              | weakened                 |
/// |-------|--------------------|--------------------|------------------------|--------------------------|
/// | owner | release: fetch_sub | release: fetch_sub | that one side is done  | destroyed while it is in |
/// |       |                    |                    | with it                | use                      |
/// | again | set_again: CAS     | cancel: CAS        | that it may be stopped | cancelled, and set all   |
/// |       |                    |                    |                        | the same                 |
struct scheduled : task_header {
  enum class progress : std::uint8_t { waiting, running, cancelled, ended };
  /// Called once, before the timer is set. From then on other threads may cancel it.
  using on_set = void (*)(scheduled&, const std::weak_ptr<runtime>&);

  timer_node node;
  runtime* engine = nullptr;
  std::int64_t period_ns = 0; ///< 0: once
  std::int64_t due_ns = 0;    ///< of a call of `after` that found no room (`node.again`): when it was due
  detail::atomic<std::uint64_t> skipped{0};
  void (*destroy)(scheduled*) noexcept = nullptr;
  detail::atomic<std::uint32_t> owners{2};
  detail::atomic<progress> state{progress::waiting};
  bool inside = false; ///< belongs to a task, which ends later: comes in as its child, not from outside

  void release() noexcept {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this); // pairs: owner
  }
  /// Returns false if the call was cancelled.
  bool begin() noexcept {
    progress expected = progress::waiting;
    return state.compare_exchange_strong(expected, progress::running,
                                         std::memory_order_acq_rel, // pairs: again
                                         std::memory_order_acquire);
  }
  /// Notes that the call was made. The engine no longer owns it, unless it is to be made again.
  void end() noexcept;
  /// Notes that the call will not be made.
  void abandon() noexcept {
    progress expected = progress::waiting;
    state.compare_exchange_strong(expected, progress::ended, std::memory_order_relaxed);
    release();
  }
};

template <class F> struct scheduled_call final : scheduled {
  template <class... Args>
  explicit scheduled_call(std::in_place_t, Args&&... args) : function(std::forward<Args>(args)...) {
    act = &perform;
    destroy = [](scheduled* s) noexcept {
      recycled<scheduled_call>::destroy(static_cast<scheduled_call*>(s));
    };
    node.task = this;
    node.submits = true;
  }

  static bool perform(task_header* t, task_action action) {
    if (action == task_action::identify) return this_execution.kind = kind_name<F>(), false;
    auto* self = static_cast<scheduled_call*>(t);
    if (action != task_action::run || !self->begin()) return self->abandon(), true;
    struct ending {
      scheduled* call;
      ~ending() { call->end(); }
    } const at_end{self};
    static_assert(result_may_go<F>,
                  "the callable returns a task, which would never run: submit it in the call");
    static_cast<void>(self->function());
    return true;
  }

  template <class... Args> static scheduled* make(Args&&... args) {
    return recycled<scheduled_call>::make(std::in_place, std::forward<Args>(args)...);
  }

  F function;
};

/// Acts as `timer::cancel`. Call from any thread, while any side owns the call.
bool cancel(scheduled& call, const std::weak_ptr<runtime>& engine) noexcept;

/// A function that is not called any more once a stop was requested. The request may come while another
/// thread destroys the function. That thread waits for the request, so the call that it cancels exists until
/// then.
template <class F> class until_stop {
 public:
  using calls = F;
  template <class G>
  until_stop(G&& g, std::stop_token token) : function_(std::forward<G>(g)),
                                             token_(std::move(token)) {}

  decltype(auto) operator()() { return function_(); }

  /// Makes the request cancel `call`, whose function this is, from here on.
  void listen(scheduled& call, const std::weak_ptr<runtime>& engine) noexcept {
    on_stop_.emplace(std::move(token_), canceller{&call, engine});
  }

 private:
  struct canceller {
    scheduled* call;
    std::weak_ptr<runtime> engine;
    void operator()() const noexcept { static_cast<void>(cancel(*call, engine)); }
  };

  F function_;
  std::stop_token token_;
  std::optional<std::stop_callback<canceller>> on_stop_; // last: the first to be destroyed
};

} // namespace detail

/// The handle of a call that an engine makes later: `engine::after`, `engine::every`. Destroying it changes
/// nothing about the call. It may outlive the engine. Move-only; use by one thread at a time.
class timer {
 public:
  /// Makes a handle of no call.
  timer() noexcept = default;
  timer(timer&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)),
        engine_(std::move(other.engine_)) {}
  timer& operator=(timer&& other) noexcept {
    std::swap(call_, other.call_);
    engine_.swap(other.engine_);
    return *this;
  }
  ~timer() {
    if (call_ != nullptr) call_->release();
  }

  /// Returns whether the engine took the call on; false when it shut down already.
  explicit operator bool() const noexcept { return call_ != nullptr; }

  /// Cancels the call. Returns true if the call will not begin any more, nor, with `every`, the next one.
  /// Returns false if it was begun, or cancelled before, or dropped by a shutdown. It does not wait for a
  /// call that runs. The callable is destroyed when handle and engine have let go of it. Cost: a lock, O(1);
  /// no system call.
  bool cancel() noexcept;

  /// Returns how many beats of `every` were left out, because the call before took too long or found no room
  /// in the engine.
  std::uint64_t skipped() const noexcept {
    return call_ == nullptr ? 0 : call_->skipped.load(std::memory_order_relaxed);
  }

 private:
  friend runtime;
  timer(detail::scheduled* call, std::weak_ptr<runtime> engine) noexcept
      : call_(call),
        engine_(std::move(engine)) {}

  detail::scheduled* call_ = nullptr;
  std::weak_ptr<runtime> engine_;
};

} // namespace corewise
