#pragma once

#include "answers.hpp"
#include "limited_lines.hpp"
#include "open_connections.hpp"
#include "token.hpp"
#include "trace_job.hpp"
#include "trial_timer.hpp"

#include <corewise/admin/server.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corewise::admin {

/// The conversations on connections: one request, one answer. Each coroutine holds a connection and closes it at the
/// end. Use on the server's thread.
class conversations {
 public:
  using tcp = boost::asio::ip::tcp;
  using local = boost::asio::local::stream_protocol;
  using conversation = boost::asio::awaitable<void>;

  static constexpr std::chrono::seconds time_for_body{10};

  /// `for_body`: how long a body may take, and an answer; tests have no time. Throws as `token`.
  conversations(boost::asio::io_context& in, answers& from, open_connections& open, const options& o,
                std::chrono::milliseconds for_body = time_for_body)
      : context_(in),
        for_body_(for_body),
        answers_(from),
        open_(open),
        hosts_(o.hosts),
        token_(o.token),
        token_for_all_(o.token_for_all),
        changes_by_tcp_(o.changes_by_tcp),
        trials_(in, from, open) {}
  conversations(const conversations&) = delete;
  conversations& operator=(const conversations&) = delete;
  /// Stops a trace, whose thread posts to the context, and waits for that thread. Its conversation goes with the context.
  ~conversations();

  /// Answers a request from that address. With the token its caller is one of the control side.
  conversation with_reader(tcp::socket peer, std::string address);
  /// Answers a request from an address that is in none of the networks: with the token, what a reader gets without.
  conversation with_stranger(tcp::socket peer, std::string address);
  /// Answers a request of an operator: this process's user, or root.
  conversation with_operator(local::socket peer, std::string user);
  /// Writes the line of the agent check. Reads nothing that HAProxy may send.
  conversation with_balancer(tcp::socket peer, std::string address);

  /// Logs a line that strangers cause, if there have not been many.
  void log_refusal(std::string line);

 private:
  struct running_trace;
  class stopped_trace;

  template <class Socket> conversation converse(Socket peer, caller from);
  response answer(const request& asked, const std::string& address, const caller& from);
  bool show_token(const request& asked, caller& from);
  template <class Socket>
  boost::asio::awaitable<std::optional<response>> trace(const request& asked, const caller& from,
                                                        Socket& peer);

  boost::asio::io_context& context_;
  const std::chrono::milliseconds for_body_;
  answers& answers_;
  open_connections& open_;
  const std::vector<std::string> hosts_;
  const token token_;
  const bool token_for_all_;
  const bool changes_by_tcp_;
  limited_lines refusals_;
  trial_timer trials_;
  std::shared_ptr<running_trace> trace_; // until its thread has ended, which may be after its conversation
};

} // namespace corewise::admin
