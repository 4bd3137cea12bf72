#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/gate.hpp>
#include <corewise/engine/detail/permits.hpp>

namespace corewise {

/// An event that happens: coroutines that wait then go on, and later ones do not wait, until it is reset.
/// Waiting suspends the coroutine, never its thread; a thread waits by `sync_wait`. When all waiters have
/// gone on the event may be destroyed, even before `set` has returned. 24 bytes.
class event {
 public:
  /// Makes an event that is not set, unless `set` says so.
  explicit event(bool set = false) noexcept : gate_(set ? 0 : 1) {}

  /// `co_await e.wait()`: waits until the event is set. Call from any coroutine; any number of them may wait.
  /// Cost: a load when it is set, else two locked instructions and a resumption; allocates nothing.
  auto wait() noexcept { return detail::awaiting<wait_kind::event, detail::gate&>(gate_); }
  /// Acts as above, until `token` is told to stop. The await returns true when the event was set, false when
  /// it was stopped.
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::event, detail::gate&>(std::move(token), gate_);
  }
  /// Sets the event. The coroutine that has waited longest runs next on the calling worker, and the others go
  /// behind the tasks that wait there. If the caller is no worker of a coroutine's engine, that coroutine
  /// runs on its own worker. Call from any thread.
  void set() noexcept { gate_.count(1); }
  /// Makes coroutines that come from now on wait again; those that `set` has woken still go on. Call from any
  /// thread.
  void reset() noexcept { gate_.close(1); }
  bool is_set() const noexcept { return gate_.open(); }

 private:
  detail::gate gate_;
};

/// An event that happens for one coroutine: the one that has waited longest goes on, alone, or, when none
/// waits, the next one that comes. Two sets before any coroutine comes count as one. 24 bytes.
class auto_reset_event {
 public:
  explicit auto_reset_event(bool set = false) noexcept : happened_(set ? 1 : 0, 1) {}

  /// Waits as `event::wait` does, and takes the event. Cost: a compare-and-swap when it is set.
  auto wait() noexcept { return detail::awaiting<wait_kind::auto_reset_event, detail::permits&>(happened_); }
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::auto_reset_event, detail::permits&>(std::move(token),
                                                                                     happened_);
  }
  /// Sets the event as `event::set` does, for one coroutine.
  void set() noexcept { happened_.give(1, 1); }
  /// Takes the event back, if no coroutine has taken it. Call from any thread.
  void reset() noexcept { happened_.clear(); }
  bool is_set() const noexcept { return happened_.number() != 0; }

 private:
  detail::permits happened_;
};

} // namespace corewise
