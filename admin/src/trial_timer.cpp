#include "trial_timer.hpp"

#include <boost/system/error_code.hpp>

#include <string>

namespace corewise::admin {

using namespace std::chrono_literals;

void trial_timer::follow() noexcept {
  const auto next = answers_.trials().next();
  if (next == set_to_) return;
  set_to_ = next;
  static_cast<void>(timer_.cancel());
  if (next) revert_at(*next);
}

void trial_timer::revert_at(time_point at) noexcept try {
  open_.give_memory(); // the timer needs some
  static_cast<void>(timer_.expires_at(at));
  timer_.async_wait([this](const boost::system::error_code& why) {
    if (why) return;
    try {
      answers_.trials().revert(std::chrono::steady_clock::now(),
                               [this](const std::string& line) { answers_.log(line); });
      follow();
    } catch (...) { // no memory, or the program's log has thrown
      revert_at(std::chrono::steady_clock::now() + 1s);
    }
  });
} catch (...) {
  set_to_.reset(); // the next request tries again
}

} // namespace corewise::admin
