#pragma once

#include "answers.hpp"
#include "open_connections.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <optional>

namespace corewise::admin {

/// Reverts changes of profiles when their trials are over. Call from the server's thread.
class trial_timer {
 public:
  trial_timer(boost::asio::io_context& in, answers& of, open_connections& open)
      : answers_(of),
        open_(open),
        timer_(in) {}

  /// Is to be called when a request may have changed when the next trial ends.
  void follow() noexcept;

 private:
  using time_point = std::chrono::steady_clock::time_point;

  /// Without memory, tries again later.
  void revert_at(time_point at) noexcept;

  answers& answers_;
  open_connections& open_;
  boost::asio::steady_timer timer_;
  std::optional<time_point> set_to_;
};

} // namespace corewise::admin
