#pragma once

#include <semaphore.h>

#include <cerrno>
#include <memory>

namespace corewise::command {

/// Wakes one who waits, once. Who goes on may destroy it at once, though `give` has not returned yet: a task that gives it is not
/// waited for. Who waits sleeps at once: a `std::binary_semaphore` offers its CPU four times before, and where others compute
/// the kernel gives it to them for milliseconds, in which the one who waits is not woken.
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
