#pragma once

#include "found_file.hpp"

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace corewise::command {

/// The files that wait to be read. Any thread; its owner keeps it short.
class file_queue {
 public:
  /// Returns how many files wait now.
  std::size_t push(found_file file) {
    const std::lock_guard lock(mutex_);
    files_.push_back(std::move(file));
    return files_.size();
  }
  std::optional<found_file> pop() {
    const std::lock_guard lock(mutex_);
    if (files_.empty()) return std::nullopt;
    std::optional<found_file> file{std::move(files_.front())};
    files_.pop_front();
    return file;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return files_.size();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    files_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<found_file> files_;
};

} // namespace corewise::command
