#pragma once

#include <corewise/engine/detail/awaiting.hpp>
#include <corewise/engine/detail/gate.hpp>
#include <corewise/engine/detail/permits.hpp>

namespace corewise {

/// Something that happens: who waits goes on then, and who comes later does not wait, until it is reset. Suspends
/// coroutines, never their threads; a thread waits by `sync_wait`. When all who wait have gone on it may be destroyed, even
/// before `set` has returned. 24 bytes.
class event {
 public:
  /// Not set, unless told.
  explicit event(bool set = false) noexcept : gate_(set ? 0 : 1) {}

  /// `co_await e.wait()`. Any coroutine, any number of them. Cost: a load when it is set, else two locked instructions and a
  /// resumption; allocates nothing.
  auto wait() noexcept { return detail::awaiting<wait_kind::event, detail::gate&>(gate_); }
  /// The same, until `token` is told to stop. Answers true when it was set, false when it was stopped.
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::event, detail::gate&>(std::move(token), gate_);
  }
  /// Any thread. The one that has waited longest runs next on the calling worker, the others behind what waits there, or on
  /// their own when the caller is no worker of their engine.
  void set() noexcept { gate_.count(1); }
  /// From now on coroutines wait again; those that went on do so. Any thread.
  void reset() noexcept { gate_.close(1); }
  bool is_set() const noexcept { return gate_.open(); }

 private:
  detail::gate gate_;
};

/// Something that happens for one: who has waited longest goes on, alone, or, when nobody waits, who comes next. Set twice
/// before anybody comes it is set once. 24 bytes.
class auto_reset_event {
 public:
  explicit auto_reset_event(bool set = false) noexcept : happened_(set ? 1 : 0) {}

  /// As `event::wait`, and takes it. Cost: a compare-and-swap when it is set.
  auto wait() noexcept { return detail::awaiting<wait_kind::auto_reset_event, detail::permits&>(happened_); }
  auto wait(std::stop_token token) noexcept {
    return detail::stoppable_awaiting<wait_kind::auto_reset_event, detail::permits&>(std::move(token),
                                                                                     happened_);
  }
  /// As `event::set`, for one.
  void set() noexcept { happened_.give(1, 1); }
  /// As if it had not happened, if nobody has taken it. Any thread.
  void reset() noexcept { happened_.clear(); }
  bool is_set() const noexcept { return happened_.number() != 0; }

 private:
  detail::permits happened_;
};

} // namespace corewise
