#pragma once

#include <memory>
#include <semaphore>

namespace corewise::command {

/// Wakes one who waits, once. Who goes on may destroy it at once, though `give` has not returned yet: a task that gives it is not
/// waited for.
class finish_signal {
 public:
  void give() noexcept {
    const std::shared_ptr<std::binary_semaphore> lives_on = semaphore_;
    lives_on->release();
  }
  void wait() noexcept { semaphore_->acquire(); }

 private:
  std::shared_ptr<std::binary_semaphore> semaphore_ = std::make_shared<std::binary_semaphore>(0);
};

} // namespace corewise::command
