#pragma once

#include <CLI/App.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

// The admin server of a running engine, seen from outside (docs/admin.md).

namespace corewise::command {

/// No engine answers. The text names the address and the reason.
struct unreachable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An answer of HTTP.
struct reply {
  unsigned status = 0;
  std::string body;
};

/// The address of an engine, as an operator gives it.
struct admin_address {
  std::string where;       ///< the path of a unix socket, or HOST:PORT of a read-only address
  std::string engine = {}; ///< its name, where that server has several; empty: it has one
  std::string token = {};  ///< the file with the token that is shown; empty: none is
};

/// Asks an admin server. Each request has a connection of its own.
class admin_client {
 public:
  /// How long a request may take, from the connection to the end of the answer, unless it says so.
  static constexpr std::chrono::seconds time_limit{5};

  /// Reads the token. Throws `std::system_error` or `std::invalid_argument`, which names the file.
  explicit admin_client(const admin_address& address);

  const std::string& address() const noexcept { return address_; }
  /// Returns the address, and the engine if one was named.
  const std::string& name() const noexcept { return name_; }
  /// Returns whether the address is a unix socket: it has all that there is, the other has no names of tasks without the
  /// token.
  bool is_control() const noexcept { return port_.empty(); }
  /// Returns whether it shows a token.
  bool has_token() const noexcept { return !token_.empty(); }

  /// Sends a request, and returns the answer. Throws `unreachable`.
  reply get(std::string_view target, std::string_view accept = "*/*",
            std::chrono::seconds within = time_limit) const;
  reply put(std::string_view target, const std::string& body) const;

 private:
  std::string with_engine(std::string_view target) const;

  std::string address_;
  std::string name_;
  std::string engine_; // as it stands in a target; may be empty
  std::string host_;   // as it is looked up
  std::string port_;   // empty: `address_` is a path
  std::string token_;  // may be empty
};

/// Adds `--connect ADDR`, which it returns, `--engine NAME` and `--token FILE`.
CLI::Option* add_connect_option(CLI::App& app, admin_address& address);

/// Returns what an answer that is none of the expected ones says, and what to do about a request that only the control
/// socket takes, or that needs a token.
std::string text_of_refusal(const reply& answer, const admin_client& from, std::string_view target);
/// Writes that to standard error.
void complain_about(const reply& answer, const admin_client& from, std::string_view target);

} // namespace corewise::command
