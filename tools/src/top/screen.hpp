#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace corewise::command {

enum class key : std::uint8_t { none, quit, up, down, page_up, page_down, home };

/// The terminal, with a screen of its own for as long as the object lives. It also gives the terminal back when a
/// signal ends or stops the process. One at a time.
class screen {
 public:
  /// Returns whether standard output is a terminal that can be drawn on.
  static bool is_there();

  struct extent {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  static extent size();

  /// Throws `std::system_error`.
  screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;
  ~screen();

  /// Draws lines in place of what is there. Throws `std::system_error`.
  static void show(const std::vector<std::string>& lines);

  /// Waits for a key. Returns `none` when the time is over, or when the screen is to be drawn again.
  key wait_until(std::chrono::steady_clock::time_point until);
  /// Takes a key that has come already. Returns `none` if there is none.
  key take();

 private:
  bool read_keys(std::chrono::nanoseconds within);

  bool keys_ = true;  // standard input has not ended
  std::string typed_; // and not taken yet
};

} // namespace corewise::command
