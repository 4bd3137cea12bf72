#pragma once

#include "memory_reserve.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

namespace corewise::admin {

/// Counts the connections of the server, in all and of each address. While there is none, memory is kept for the next
/// answer. Call from the server's thread.
class open_connections {
 public:
  static constexpr std::size_t most = 64;

  /// Counts one while it lives.
  class counted {
   public:
    /// `from`: its address, or its user. `stranger`: that is in none of the networks.
    counted(open_connections& in, std::string_view from, bool stranger) noexcept
        : in_(in),
          stranger_(stranger),
          place_(std::ranges::find(in.from_, std::size_t{0})) {
      if (place_ != in_.from_.end()) *place_ = key_of(from);
      ++in_.count_;
      in_.strangers_ += stranger_;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
      if (place_ != in_.from_.end()) *place_ = 0;
      --in_.count_;
      in_.strangers_ -= stranger_;
      in_.keep_memory();
    }

   private:
    open_connections& in_;
    const bool stranger_;
    const std::array<std::size_t, most>::iterator place_;
  };

  std::size_t count() const noexcept { return count_; }
  std::size_t strangers() const noexcept { return strangers_; }
  /// Returns how many there are from that address.
  std::size_t count(std::string_view from) const noexcept {
    return static_cast<std::size_t>(std::ranges::count(from_, key_of(from)));
  }
  /// Takes memory back that was given up, if there is no connection.
  void keep_memory() noexcept {
    if (count_ == 0) reserve_.fill();
  }
  /// Gives it up, for what is allocated next.
  void give_memory() noexcept { reserve_.release(); }

 private:
  static std::size_t key_of(std::string_view from) noexcept {
    return std::max<std::size_t>(1, std::hash<std::string_view>()(from));
  }

  std::size_t count_ = 0;
  std::size_t strangers_ = 0;            // of these
  std::array<std::size_t, most> from_{}; // of each one the hash of its address; 0: none
  memory_reserve reserve_;
};

} // namespace corewise::admin
