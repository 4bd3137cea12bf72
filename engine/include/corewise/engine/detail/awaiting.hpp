#pragma once

#include <corewise/engine/detail/waiter_list.hpp>

#include <optional>
#include <stop_token>
#include <utility>

// How a coroutine waits in a list. The coroutine waits for an object of a type `Source`, which has
//
//     bool try_pass(W&)  returns whether the waiter has it at once; never waits
//     bool enter(W&)     puts the waiter into the list, unless it has it at once or was stopped; returns
//                        whether it did: then the waiter is not the caller's any more
//     bool leave(W&)     calls `waiter_list::stop` under the list's lock; after true the caller must wake it
//     void give_back()   takes back what was granted to a waiter that is destroyed before it went on
//     bool take_back(W&) takes back what was granted to a waiter that was told to stop before it went on;
//                        returns false if it is the waiter's all the same
//
// The engine's end takes a waiter out as a stop does.
//
// Where the waiter is a part of a race (`W::part`), `enter` takes nothing. If what the waiter waits for is
// there, or will not come, it returns false and leaves the waiter idle; then `try_pass` takes it. A
// `Source` that is no reference has `list()`, the address of what it waits for.
//
// A `Source` whose `enter` is cheap says `enters_at_once`; then `try_pass` is not called before. One that has
// `try_quickly(W&)` has that called instead: it may answer false though the waiter could have it.

namespace corewise::detail {

/// Awaits `Source`, a reference or a small object. Lives in the awaiting frame.
template <wait_kind Kind, class Source, class Waiter = waiter>
class [[nodiscard]] awaiting : protected Waiter {
 public:
  using threads_may_wait = void;
  static constexpr wait_kind kind = Kind;

  template <class... Args>
  explicit awaiting(Source source, Args&&... args) noexcept
      : Waiter{{}, std::forward<Args>(args)...},
        source_(source) {}
  awaiting(const awaiting&) = delete;
  awaiting& operator=(const awaiting&) = delete;
  ~awaiting() {
    if (own().state != wait_state::taken) [[unlikely]]
      end_untaken();
  }

  bool await_ready() noexcept {
    if constexpr (std::remove_cvref_t<Source>::enters_at_once)
      return false;
    else if constexpr (requires { source_.try_quickly(own()); })
      return note_granted(source_.try_quickly(own()));
    else
      return try_pass();
  }
  /// Returns false if the coroutine goes on. After true, do not touch this again.
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    suspend(suspended);
    return source_.enter(own());
  }
  void await_resume() noexcept { static_cast<void>(take()); }

  // For `select`: it tries; it joins once, then enters and leaves, perhaps several times; then it takes what
  // it waited for by `await_resume`, or ends.

  /// Takes what is there, or finds that nothing will come. Returns whether either is so. Call while it is in
  /// no list.
  bool try_race() noexcept
    requires(Kind != wait_kind::barrier)
  {
    own().state = wait_state::idle;
    return try_pass() || own().state == wait_state::stopped;
  }
  const void* race_list() const noexcept {
    if constexpr (std::is_reference_v<Source>)
      return &source_;
    else
      return source_.list();
  }
  template <class Promise> void join_race(std::coroutine_handle<Promise> suspended) noexcept {
    suspend(suspended);
  }
  /// Enters the list. Returns false if that which it waits for is there, or will not come.
  bool enter_race(const race_part& as) noexcept {
    own().part = &as;
    own().state = wait_state::idle;
    return source_.enter(own());
  }
  void leave_race() noexcept {
    if (own().part != nullptr) source_.leave(own());
  }
  void end_race() noexcept { this->resumed(); }

 protected:
  bool try_pass() noexcept { return note_granted(source_.try_pass(own())); }
  template <class Promise> void suspend(std::coroutine_handle<Promise> suspended) noexcept {
    Waiter::suspend(suspended, how);
  }
  /// Returns whether the waiter was granted what it waited for; false if it was stopped.
  bool take() noexcept {
    this->resumed();
    if (own().state != wait_state::granted) return false;
    own().state = wait_state::taken;
    return true;
  }
  Waiter& own() noexcept { return *this; }
  Source& source() noexcept { return source_; }
  /// Gives back what the waiter, which was told to stop, was granted before it went on.
  void take_back() noexcept {
    if (own().state == wait_state::granted && source_.take_back(own())) note_stopped();
  }
  void note_stopped() noexcept { own().state = wait_state::stopped; }

 private:
  bool note_granted(bool is) noexcept {
    if (is) own().state = wait_state::granted;
    return is;
  }
  static withdrawal withdraw(suspension& s) noexcept {
    auto& self = static_cast<awaiting&>(s);
    if (self.part == nullptr) return self.source_.leave(self) ? withdrawal::of_end : withdrawal::of_waker;
    const bool claimed = self.claim();
    if (!claimed && self.part->race->winner() == self.part) return withdrawal::of_waker;
    self.source_.leave(self); // another part's waker may have taken it out, in vain
    return claimed ? withdrawal::of_end : withdrawal::elsewhere;
  }
  [[gnu::visibility("hidden")]] static constexpr wait_record how{Kind, &withdraw};

  /// Ends a wait that was stopped, never awaited, or whose frame is destroyed before it went on.
  void end_untaken() noexcept {
    this->free_entry();
    if (own().state == wait_state::queued)
      source_.leave(own());
    else if (own().state == wait_state::granted)
      source_.give_back(); // its engine has ended
  }

  Source source_;
};

/// Awaits `Source`, or a stop.
template <wait_kind Kind, class Source, class Waiter = waiter>
class [[nodiscard]] stoppable_awaiting : public awaiting<Kind, Source, Waiter> {
  using base = awaiting<Kind, Source, Waiter>;

 public:
  template <class... Args>
  explicit stoppable_awaiting(std::stop_token token, Source source, Args&&... args) noexcept
      : base(source, std::forward<Args>(args)...),
        token_(std::move(token)) {}

  bool await_ready() noexcept {
    if (!token_.stop_requested()) return base::await_ready();
    if (!this->try_pass()) this->note_stopped();
    return true;
  }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) noexcept {
    this->suspend(suspended);
    stopper_.emplace(token_, stopper{this}); // it may be called here, and any time from now on
    return this->source().enter(this->own());
  }
  /// Returns whether the waiter was granted what it waited for; false if it was stopped.
  bool await_resume() noexcept { return take(); }
  bool try_race() = delete; // a race takes a stop as an event

 protected:
  bool take() noexcept {
    if (stopper_) {
      stopper_.reset(); // waits for it, unless this thread is in it
      if (token_.stop_requested()) [[unlikely]]
        this->take_back();
    }
    return base::take();
  }

 private:
  struct stopper {
    stoppable_awaiting* self;
    void operator()() const noexcept {
      if (self->source().leave(self->own())) self->own().wake();
    }
  };

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> stopper_;
};

} // namespace corewise::detail
