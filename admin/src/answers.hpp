#pragma once

#include "agent_check.hpp"
#include "profile_trials.hpp"
#include "served.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/load.hpp>
#include <corewise/topology/machine_json.hpp>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The answers to requests. Nothing here knows of sockets.

namespace corewise::admin {

namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// The side from which a request comes.
struct caller {
  bool control = false;   ///< by the control socket, or with the token
  std::string name;       ///< for the log: its user, or its address
  bool may_change = true; ///< what only the control side may
  bool stranger = false;  ///< in none of the networks
};

/// Makes an answer, of HTTP 1.1.
response text_answer(http::status status, std::string body, const char* type = "text/plain; charset=utf-8");

/// Returns whether a request may come by TCP, for the address or one of the names of this machine, and from no page
/// of another one. `address`: at which it came in. Source: DNS rebinding; RFC 6454.
bool asks_for_us(const request& asked, std::string_view address, const std::vector<std::string>& hosts);

class answers {
 public:
  /// Keeps `log`, `before_apply` and `requests` of the options.
  answers(served engines, const options& o)
      : engines_(std::move(engines)),
        before_apply_(o.before_apply),
        log_(o.log) {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      const engine& e = engines_[i];
      meters_.emplace_back(e, i == 0 ? o.requests : nullptr);
      machines_.push_back(machine_json(e.machine(), e.groups(), e.workers()));
    }
  }

  response to(const request& asked, const caller& from);
  /// Returns whether only the control side gets an answer there.
  static bool is_for_control(std::string_view path) noexcept {
    return path == "/dump" || path == "/profile" || path == "/trace";
  }
  const served& engines() const noexcept { return engines_; }
  /// Returns what HAProxy's agent check is told. Throws `std::bad_alloc`.
  std::string agent_line() {
    return agent_.line(load(engines_.meant_by({})), std::chrono::steady_clock::now());
  }
  /// From now on balancers are told to send nothing new. Call from any thread.
  void start_draining() noexcept { draining_ = true; }
  void log(const std::string& line) const {
    if (log_) log_(line);
  }

  profile_trials& trials() noexcept { return trials_; }
  /// Ends all changes on trial, with a line in the log for each.
  void end_trials() noexcept {
    trials_.end_all([this](const std::string& line) { log(line); });
  }

 private:
  load_report load(const std::vector<std::size_t>& of);
  response show(const request& asked, std::string_view path, std::string_view query, bool control);
  response show_load(const request& asked, std::string_view query);
  response show_profile(std::string_view query) const;
  std::string prepare(profile& wanted) const;
  response change_profile(const request& asked, std::string_view query, const caller& from);

  const served engines_;
  std::deque<load_meter> meters_;     // one for each engine
  std::vector<std::string> machines_; // likewise: the map's data that stay
  agent_check agent_;
  std::atomic<bool> draining_{false};                // a flag by itself
  const std::function<void(profile&)> before_apply_; // empty: nothing is done
  const std::function<void(std::string_view)> log_;
  profile_trials trials_{engines_};
};

} // namespace corewise::admin
