#pragma once

#include <corewise/engine/engine.hpp>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// What is answered to a request. Nothing here knows of sockets.

namespace corewise::admin {

namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// The side from which a request comes.
struct caller {
  bool control = false; ///< by the control socket
  std::string name;     ///< for the log: its user, or its address
};

/// Makes an answer, of HTTP 1.1.
response text_answer(http::status status, std::string body, const char* type = "text/plain; charset=utf-8");

/// Whether a request may come by TCP, for the address or one of the names of this machine, and from no page
/// of another one. `address`: at which it came in. Source: DNS rebinding; RFC 6454.
bool asks_for_us(const request& asked, std::string_view address, const std::vector<std::string>& hosts);

class answers {
 public:
  /// `log`: empty, or called with a line for each change.
  answers(engine& e, std::function<void(std::string_view)> log) : engine_(e), log_(std::move(log)) {}

  response to(const request& asked, const caller& from);
  const engine& of() const noexcept { return engine_; }
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  /// Returns when `revert` is to be called; nothing: no change is on trial.
  std::optional<std::chrono::steady_clock::time_point> revert_at() const noexcept { return revert_at_; }
  /// Puts the profile in force again that was there before the change on trial. Throws `std::bad_alloc`, and
  /// may then be called again.
  void revert();

 private:
  response change_profile(const request& asked, std::string_view query, const caller& from);

  engine& engine_;
  const std::function<void(std::string_view)> log_;
  std::optional<profile> before_;
  std::optional<std::chrono::steady_clock::time_point> revert_at_;
};

} // namespace corewise::admin
