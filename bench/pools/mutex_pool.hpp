#pragma once

#include <contender.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace corewise::bench {

/// A pool that a programmer writes in an afternoon: threads, one deque, one mutex, one condition variable.
class mutex_pool {
 public:
  static constexpr std::string_view name = "mutex_pool";

  explicit mutex_pool(const options& o) {
    for (std::uint32_t i = 0; i < o.workers; ++i) threads_.emplace_back([this] { work(); });
  }
  mutex_pool(const mutex_pool&) = delete;
  mutex_pool& operator=(const mutex_pool&) = delete;
  ~mutex_pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    not_empty_.notify_all();
  }

  std::string profile() const { return {}; }

  template <class F> void post(F&& f) {
    std::function<void()> task(std::forward<F>(f)); // allocates before the lock
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    not_empty_.notify_one();
  }
  template <class F> void spawn(F&& f) { post(std::forward<F>(f)); }
  /// In a task: calls f, which blocks.
  template <class F> void blocking(F&& f) { std::forward<F>(f)(); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      not_empty_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<std::function<void()>> tasks_; // guarded by mutex_, as the next
  bool ends_ = false;
  std::vector<std::jthread> threads_; // the last: they are joined first
};

} // namespace corewise::bench
