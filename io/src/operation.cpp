#include <corewise/io/detail/operation.hpp>

#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

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
  action == task_action::run ? self.of.cancel_there(self.by_time) : self.of.let_go();
  return false;
}

/// A cancellation on its way to another context. Where that goes without running it, it leaves the operation.
class operation::posted_cancellation {
 public:
  /// Call with the lock held.
  posted_cancellation(operation& of, bool by_time) noexcept : of_(&of), by_time_(by_time) {
    of.hold();
    ++of.early_->posted_;
  }
  posted_cancellation(posted_cancellation&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)),
        by_time_(other.by_time_) {}
  posted_cancellation& operator=(posted_cancellation&&) = delete;
  ~posted_cancellation() {
    if (of_ != nullptr) arrive(/*runs=*/false);
  }
  void operator()() noexcept { arrive(/*runs=*/true); }

 private:
  void arrive(bool runs) noexcept {
    operation& of = *std::exchange(of_, nullptr);
    {
      const locked here(of);
      --of.early_->posted_;
      if (runs) of.note_cancelled(by_time_);
    }
    of.let_go();
  }

  operation* of_;
  const bool by_time_;
};

void operation::cancel() noexcept {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  do {
    if (word == 0) return; // it has ended
  } while (!word_.compare_exchange_weak(word, word + 1, std::memory_order_relaxed));
  if (context_ == nullptr || !is_own_context()) return cancel_there(/*by_time=*/false);
  stand_in(early_->by_stop_, &early_end::canceller::perform);
  early_->by_stop_.wake();
}

/// Call with the lock held, when the operation has begun.
void operation::set_timer(std::chrono::nanoseconds within) noexcept {
  if (completed_ || this->root == nullptr) return;
  hold();
  stand_in(early_->by_time_, &early_end::canceller::perform);
  early_->timed_ = driving::set_timer(early_->timer_, early_->by_time_, within);
  if (!early_->timed_)
    word_.fetch_sub(1, std::memory_order_relaxed); // the engine has ended; the starter, or a step, is left
}

void operation::limit_wait(std::optional<early_end>& spare, std::chrono::nanoseconds time) noexcept {
  if (context_ == nullptr || kept_) return; // nothing of an engine that has ended is touched
  if (early_ == nullptr) early_ = &spare.emplace(*this, std::nullopt);
  if (!early_->within_ && !early_->timed_) set_timer(time);
}

/// A timer that fires just now cancels the operation, which goes on until then. It is not set again.
void operation::end_limit() noexcept {
  if (kept_ || early_ == nullptr || early_->within_ || !early_->timed_) return;
  if (!driving::cancel_timer(early_->timer_, early_->by_time_)) return;
  early_->timed_ = false;
  std::construct_at(&early_->timer_);            // one that was stopped cannot be set again
  word_.fetch_sub(1, std::memory_order_relaxed); // the step is left
}

/// Sends the cancellation to where the operation is; it comes at once if this thread runs that context. Call with the lock
/// held.
void operation::send_cancellation(bool by_time) noexcept {
  try {
    early_->elsewhere_->execute(posted_cancellation(*this, by_time));
  } catch (...) {
    return; // that context takes nothing: the operation goes on
  }
}

/// Cancels where the operation is, and leaves it.
void operation::cancel_there(bool by_time) noexcept {
  {
    const locked here(*this);
    if (completed_ || !early_->elsewhere_)
      note_cancelled(by_time);
    else
      send_cancellation(by_time);
  }
  let_go();
}

/// Call with the lock held; at its end Asio is told.
void operation::note_cancelled(bool by_time) noexcept {
  if (!completed_ && !cancelled_) early_->expired_ = by_time;
  cancelled_ = true;
}

// --- what it waits for

std::int64_t coarse_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void operation::note_wait(corewise::wait_kind kind, int descriptor, const sockaddr* peer,
                          std::size_t size) noexcept {
  if (context_ == nullptr) return;
  forget_wait(); // a dump may read it
  wait_.kind = kind;
  wait_.descriptor = descriptor;
  wait_.since_ns = coarse_now_ns();
  wait_.peer.sin6_family = AF_UNSPEC;
  if (peer != nullptr && peer->sa_family != AF_UNIX && size <= sizeof wait_.peer)
    std::memcpy(&wait_.peer, peer, size);
  waits_ = &context_->waits_here();
  waits_->append(wait_);
}

// --- the end

void operation::complete() noexcept {
  bool timed = false;
  {
    const locked here(*this);
    completed_ = true;
    forget_wait();
    if (early_ != nullptr) {
      timed = early_->timed_ && !kept_;
      early_->elsewhere_.reset(); // its context may go now
    }
  }
  if (timed && driving::cancel_timer(early_->timer_, early_->by_time_)) let_go();
  let_go();
}

} // namespace corewise::io::detail
