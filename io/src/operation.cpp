#include <corewise/io/detail/operation.hpp>

namespace corewise::io::detail {

using corewise::detail::timer_state;

// --- ending early

early_end::early_end(operation& of, std::optional<std::chrono::nanoseconds> within) noexcept
    : of_(of),
      within_(within) {
  stopping_.of = expiring_.of = this;
}

/// Notes the suspended coroutine, as whose part the task runs: it is counted as in flight already.
void early_end::prepare(canceller& made, bool (*act)(task_header*, task_action)) noexcept {
  const suspension& waits = of_;
  made.act = act;
  made.root = waits.root;
  made.phase = waits.phase;
  made.run_as = waits.run_as;
}

bool early_end::cancel(task_header* t, task_action action) {
  if (action == task_action::identify)
    return corewise::detail::this_execution.kind = "the cancellation of an I/O operation", false;
  operation& of = static_cast<canceller*>(t)->of->of_;
  action == task_action::run ? of.emit(/*by_time=*/false) : of.leave();
  return false;
}

bool early_end::expire(task_header* t, task_action action) {
  if (action == task_action::identify)
    return corewise::detail::this_execution.kind = "the time limit of an I/O operation", false;
  operation& of = static_cast<canceller*>(t)->of->of_;
  action == task_action::run ? of.emit(/*by_time=*/true) : of.leave();
  return false;
}

void operation::cancel() noexcept {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  do {
    if (word == 0) return; // it has ended
  } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_relaxed));
  if (early_->elsewhere_) {
    try {
      return asio::post(*early_->elsewhere_, [this]() noexcept { emit(/*by_time=*/false); });
    } catch (...) { // its executor takes nothing: the operation goes on
      return leave();
    }
  }
  if (this->root == nullptr) return emit(/*by_time=*/false);
  early_->prepare(early_->stopping_, &early_end::cancel);
  early_->stopping_.wake();
}

/// Call with the lock held, when the operation has begun.
void operation::set_timer() noexcept {
  if (completed_ || !early_->within_ || this->root == nullptr) return;
  enter();
  early_->prepare(early_->expiring_, &early_end::expire);
  early_->timed_ = driving::set_timer(early_->timer_, early_->expiring_, *early_->within_);
  if (!early_->timed_)
    word_.fetch_sub(1, std::memory_order_relaxed); // the engine has ended; the starter is left
}

void operation::emit(bool by_time) noexcept {
  {
    const locked here(*this);
    if (!completed_) {
      early_->expired_ = by_time;
      early_->signal_.emit(asio::cancellation_type::all);
    }
  }
  leave();
}

// --- the end

void operation::complete() noexcept {
  bool timed = false;
  {
    const locked here(*this);
    completed_ = true;
    timed = early_ != nullptr && early_->timed_;
  }
  if (timed && driving::cancel_timer(early_->timer_, early_->expiring_)) leave();
  leave();
}

} // namespace corewise::io::detail
