#include <corewise/io/detail/operation.hpp>

namespace corewise::io::detail {

// --- ending early

early_end::early_end(operation& of, std::optional<std::chrono::nanoseconds> within) noexcept
    : within_(within),
      by_stop_(of, /*time=*/false),
      by_time_(of, /*time=*/true) {}

bool early_end::canceller::perform(task_header* t, task_action action) {
  if (action == task_action::identify)
    return corewise::detail::this_execution.kind = "the cancellation of an I/O operation", false;
  const canceller& self = *static_cast<canceller*>(t);
  action == task_action::run ? self.of.cancel_there(self.by_time) : self.of.leave();
  return false;
}

void operation::cancel() noexcept {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  do {
    if (word == 0) return; // it has ended
  } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_relaxed));
  if (early_->elsewhere_ || this->root == nullptr) return cancel_there(/*by_time=*/false);
  stand_in(early_->by_stop_, &early_end::canceller::perform);
  early_->by_stop_.wake();
}

/// Call with the lock held, when the operation has begun.
void operation::set_timer() noexcept {
  if (completed_ || !early_->within_ || this->root == nullptr) return;
  enter();
  stand_in(early_->by_time_, &early_end::canceller::perform);
  early_->timed_ = driving::set_timer(early_->timer_, early_->by_time_, *early_->within_);
  if (!early_->timed_)
    word_.fetch_sub(1, std::memory_order_relaxed); // the engine has ended; the starter is left
}

/// Cancels where the operation is. Its context may be made for one thread.
void operation::cancel_there(bool by_time) noexcept {
  if (!early_->elsewhere_) return note_cancelled(by_time);
  try {
    asio::post(*early_->elsewhere_, [this, by_time]() noexcept { note_cancelled(by_time); });
  } catch (...) { // its executor takes nothing: the operation goes on
    leave();
  }
}

/// Asio is told at the end of the lock.
void operation::note_cancelled(bool by_time) noexcept {
  {
    const locked here(*this);
    if (!completed_ && !early_->cancelled_) early_->expired_ = by_time;
    early_->cancelled_ = true;
  }
  leave();
}

// --- the end

void operation::complete() noexcept {
  bool timed = false;
  {
    const locked here(*this);
    completed_ = true;
    timed = early_ != nullptr && early_->timed_ && !kept_;
  }
  if (timed && driving::cancel_timer(early_->timer_, early_->by_time_)) leave();
  leave();
}

/// The last one has left. A frame that is kept stays, but is no work of the operation's context any more.
void operation::go_on() noexcept {
  if (!kept_) return group_context::resume(*this);
  if (early_ != nullptr) early_->elsewhere_.reset();
}

} // namespace corewise::io::detail
