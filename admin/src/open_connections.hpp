#pragma once

#include "memory_reserve.hpp"

#include <cstddef>

namespace corewise::admin {

/// Counts the connections of the server. While there is none, memory is kept for the next answer. Call from the server's
/// thread.
class open_connections {
 public:
  /// Counts one while it lives.
  class counted {
   public:
    explicit counted(open_connections& in) noexcept : in_(in) { ++in_.count_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
      --in_.count_;
      in_.keep_memory();
    }

   private:
    open_connections& in_;
  };

  std::size_t count() const noexcept { return count_; }
  /// Takes memory back that was given up, if there is no connection.
  void keep_memory() noexcept {
    if (count_ == 0) reserve_.fill();
  }
  /// Gives it up, for what is allocated next.
  void give_memory() noexcept { reserve_.release(); }

 private:
  std::size_t count_ = 0;
  memory_reserve reserve_;
};

} // namespace corewise::admin
