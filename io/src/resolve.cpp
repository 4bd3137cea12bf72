#include <corewise/engine/detail/driving.hpp>
#include <corewise/engine/oneshot.hpp>
#include <corewise/engine/run_blocking.hpp>
#include <corewise/engine/this_task.hpp>
#include <corewise/io/resolve.hpp>

#include <netdb.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace corewise::io {

namespace {

using corewise::detail::driving;
using endpoints = std::vector<asio::ip::tcp::endpoint>;

/// Returns the error that Asio has for one of getaddrinfo.
error_code error_of(int result) {
  switch (result) {
  case EAI_SYSTEM: return {errno, asio::error::get_system_category()};
  case EAI_MEMORY: return asio::error::no_memory;
  case EAI_AGAIN: return asio::error::host_not_found_try_again;
  case EAI_SERVICE: return asio::error::service_not_found;
  case EAI_FAIL: return asio::error::no_recovery;
  case EAI_FAMILY: return asio::error::address_family_not_supported;
  default: return asio::error::host_not_found;
  }
}

int call_system(const std::string& host, const std::string& service, int flags, addrinfo*& first) {
  addrinfo wish{};
  wish.ai_family = AF_UNSPEC;
  wish.ai_socktype = SOCK_STREAM;
  wish.ai_flags = flags;
  return ::getaddrinfo(host.c_str(), service.c_str(), &wish, &first);
}

/// Returns whether a service is a number that no port has: the system would take its lower 16 bits.
bool is_beyond_ports(const std::string& service) {
  constexpr unsigned long last = 65535;
  char* end = nullptr;
  const unsigned long number = std::strtoul(service.c_str(), &end, 10); // as the system reads it
  return end != service.c_str() && *end == '\0' && number > last;
}

/// Asks for the families only of which the host has addresses. That hides addresses that are given as such, and names of
/// the loopback, where the host has addresses of the other family: so it takes literals first, and asks for all in the end.
int find(const std::string& host, const std::string& service, addrinfo*& first) {
  if (const int result = call_system(host, service, AI_NUMERICHOST, first); result != EAI_NONAME)
    return result;
  const int result = call_system(host, service, AI_ADDRCONFIG, first);
  const bool may_be_hidden =
      result == EAI_NONAME || result == EAI_ADDRFAMILY || result == EAI_NODATA || result == EAI_AGAIN;
  return may_be_hidden ? call_system(host, service, 0, first) : result;
}

endpoints look_up(const std::string& host, const std::string& service) {
  addrinfo* first = nullptr;
  const int result = is_beyond_ports(service) ? EAI_SERVICE : find(host, service, first);
  if (result != 0) throw system_error(error_of(result), "cannot resolve " + host + ", " + service);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(first, &::freeaddrinfo);
  endpoints found;
  for (const addrinfo* a = first; a != nullptr; a = a->ai_next) {
    if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
    asio::ip::tcp::endpoint& next = found.emplace_back();
    next.resize(a->ai_addrlen);
    std::memcpy(next.data(), a->ai_addr, a->ai_addrlen);
  }
  return found;
}

task<endpoints> look_up_blocking(std::string host, std::string service) {
  auto call = [&] { return look_up(host, service); };
  co_return co_await run_blocking(call);
}

using answer = std::variant<endpoints, std::exception_ptr>;

/// Looks up in a task of its own, which may end after the one that asked.
task<> look_up_for(oneshot_sender<answer> asked, std::string host, std::string service) {
  answer found;
  try {
    found = co_await look_up_blocking(std::move(host), std::move(service));
  } catch (...) {
    found = std::current_exception();
  }
  asked.send(std::move(found));
}

} // namespace

task<endpoints> resolve(std::string host, std::string service, std::stop_token stop) {
  runtime* const engine = corewise::detail::this_execution.engine;
  if (engine == nullptr || !stop.stop_possible())
    co_return co_await look_up_blocking(std::move(host), std::move(service));
  if (stop.stop_requested()) throw system_error(asio::error::operation_aborted, "resolve");
  auto [sender, receiver] = make_oneshot<answer>();
  task<> call = look_up_for(std::move(sender), std::move(host), std::move(service));
  const hint as_here{.name = this_task::name(), .id = this_task::id()};
  const submit_result sent = driving::submit(*engine, std::move(call).release_to(*engine), as_here);
  if (sent == submit_result::full)
    throw system_error(asio::error::no_buffer_space, "resolve: the engine is full");
  if (sent != submit_result::accepted) throw system_error(asio::error::operation_aborted, "resolve");
  std::optional<answer> got = co_await receiver.receive(stop);
  if (!got) throw system_error(asio::error::operation_aborted, "resolve");
  if (const auto* const why = std::get_if<std::exception_ptr>(&*got)) std::rethrow_exception(*why);
  co_return std::get<endpoints>(std::move(*got));
}

} // namespace corewise::io
