#pragma once

#include <semaphore.h>

#include <cerrno>
#include <memory>

namespace corewise::command {

/// Wakes one waiter, once. The waiter may destroy the signal at once when it goes on, though `give` has not
/// returned yet: it does not wait for the task that gives the signal. The waiter sleeps at once: a
/// `std::binary_semaphore` offers its CPU four times before, and where other threads compute the kernel gives
/// it to them for milliseconds, in which the waiter is not woken.
class finish_signal {
 public:
  void give() noexcept {
    const std::shared_ptr<semaphore> lives_on = semaphore_;
    ::sem_post(&lives_on->posix);
  }
  void wait() noexcept {
    while (::sem_wait(&semaphore_->posix) != 0 && errno == EINTR) {
    }
  }

 private:
  struct semaphore {
    semaphore() noexcept { ::sem_init(&posix, 0, 0); }
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;
    ~semaphore() { ::sem_destroy(&posix); }

    sem_t posix{};
  };

  std::shared_ptr<semaphore> semaphore_ = std::make_shared<semaphore>();
};

} // namespace corewise::command
