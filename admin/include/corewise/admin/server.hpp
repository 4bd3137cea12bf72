#pragma once

#include <corewise/engine/fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::admin {

struct options {
  /// Where the control socket is made, a unix socket. Its clients read everything, and change the profile:
  /// the user of this process, and root. A socket that an earlier process has left there is replaced. Empty:
  /// none.
  std::filesystem::path control;
  /// Where others read metrics and health: "127.0.0.1:9464", "[::]:9464"; port 0: any. There are no names or
  /// ids of tasks. Empty: nowhere.
  std::string read_only;
  /// Where HAProxy's agent check reads how much of its weight this server can take: an address as above. A
  /// connection gets one line, and is closed. Empty: nowhere.
  std::string agent;
  /// The networks that may read at these addresses, beside the own machine: "10.0.0.0/8", "fd00::/8". Others may read at
  /// `read_only` with the token.
  std::vector<std::string> networks;
  /// Names by which they may ask for this machine, beside its address there and `localhost`. A page of the
  /// web that asks by a name of its own gets nothing.
  std::vector<std::string> hosts;
  /// A file with a token in its first line, of 16 characters at least. A client that asks at the read-only address
  /// with `Authorization: Bearer TOKEN` reads what the control socket shows, and takes traces. The token is sent as it
  /// is, so use it on the own machine, or behind a proxy with TLS. A client that is in none of `networks` reads with it what
  /// the read-only address shows without, and nothing more. Empty: none, and such clients get no answer.
  std::filesystem::path token;
  /// Whether clients of the own machine and of `networks` need the token as well, for everything at the read-only address.
  bool token_for_all = false;
  /// Whether a token allows changes of the profile, too.
  bool changes_by_tcp = false;
  /// Null, or what counts the server's requests: it must live longer. `/load` and the agent check then count
  /// them in.
  const request_meter* requests = nullptr;
  /// Called with each profile that a request brings, before it is applied; from the server's thread. A request's
  /// profile replaces all that the program has set, so set again here what the program sets in code. Throw a
  /// `std::exception` to refuse the profile: the caller reads its text. Empty: it is applied as it came.
  std::function<void(profile&)> before_apply;
  /// Called with a line for each change of the profile, and for each caller that is refused; from the
  /// server's thread; for a trial that ends with the server, from the thread that destroys it.
  std::function<void(std::string_view)> log;
};

/// Answers operators and scrapers by HTTP, on one thread of its own that sleeps between requests and waits
/// for no worker: it answers also when all of them are stuck. docs/admin.md lists what it answers.
class server {
 public:
  /// Throws `std::system_error` if a socket cannot be made or the token not be read, `std::invalid_argument` for an
  /// address, a network or a token that is none, or where they do not go together. `e` must live longer.
  server(engine& e, const options& o);
  /// Does the same for all engines of a set: metrics have the label `engine`, health and load are those of all together, and
  /// `?engine=NAME` asks for one.
  server(engine_set& engines, const options& o);
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  /// Ends what is being answered, and removes the control socket. A change of the profile that is still on trial ends, too:
  /// the profile before it holds again, and the log gets a line; so confirm it before that. In the child of a
  /// process fork it only closes the child's descriptors of the addresses: if the child does not exec, let it destroy the
  /// server; otherwise no later process can listen there while the child lives.
  ~server();

  /// From now on tells balancers and the kubelet to send nothing new: `drain` at the agent check, 503 at
  /// `/health/ready`. Call it when the process is told to stop, from any thread; then go on serving until they
  /// have asked again, and until the last request has ended.
  void start_draining() noexcept;

  /// Return the ports of the read-only address and of the agent check; 0: there is none.
  std::uint16_t port() const noexcept;
  std::uint16_t agent_port() const noexcept;

 private:
  class plane;
  std::unique_ptr<plane> plane_;
};

} // namespace corewise::admin
