#pragma once

#include <corewise/io/detail/awaited_operation.hpp>
#include <corewise/io/detail/initiation.hpp>
#include <corewise/policies/any_duration.hpp>

#include <utility>

namespace corewise::io {

/// `use_task` with a stop, a time, or both.
struct limited_use_task {
  std::stop_token token;
  std::optional<std::chrono::nanoseconds> time;
  error_code* error = nullptr; ///< where an error goes; null: it is thrown

  limited_use_task operator()(std::stop_token until) const { return {std::move(until), time, error}; }
  limited_use_task within(any_duration d) const { return {token, d, error}; }
  limited_use_task into(error_code& e) const { return {token, time, &e}; }
};

/// `co_await socket.async_connect(peer, io::use_task)`: a coroutine of an engine awaits any asynchronous
/// operation of Asio. It gets the operation's result; an error is thrown as `system_error`.
///
/// `io::use_task.into(error)` puts the error there instead, as `asio::redirect_error` does for other tokens. Put
/// `asio::as_tuple` around the token to get the error as a part of the result.
///
/// `io::use_task(token)` awaits it until a stop is requested: then the operation is cancelled, and ends with
/// `operation_aborted` if it had not ended. `io::use_task.within(5s)` cancels it after that time: then the error
/// is `timed_out`; outside of an engine's coroutines no time is kept. The two can be combined. After a cancelled composed
/// operation, or one of TLS, the stream can only be closed: a part of a message may be through.
///
/// The coroutine goes on on the worker that found the operation ready. The operation takes no memory of its own,
/// unless it needs more than 208 bytes at a time, or can be cancelled: then Asio notes how. If an operation of another context
/// is still under way when the coroutine's engine ends, its coroutine never goes on, and its frame stays.
///
/// When the engine of the socket ends, its operations end with `operation_aborted`, and so does one that begins later. While
/// that engine ends, tasks of other engines may wait for these operations, but must neither begin one nor close the socket.
///
/// The object stays where it is, neither moved nor destroyed, until the operation has returned. To end one early from
/// another task or thread, request the stop, or call `shutdown(shutdown_both)` of a socket, which keeps the descriptor.
/// Close the object when no operation is under way: else a step may use the number of the descriptor when a new
/// connection has it.
///
/// The steps of a composed operation are made where its events are found, in no strand: a strand of the socket does not
/// keep two operations of one TLS stream apart. Bind no executor to a token with a stop or a time.
struct use_task_t {
  error_code* error = nullptr; ///< where an error goes; null: it is thrown

  limited_use_task operator()(std::stop_token until) const { return {std::move(until), {}, error}; }
  limited_use_task within(any_duration d) const { return {{}, d, error}; }
  constexpr use_task_t into(error_code& e) const noexcept { return {&e}; }
};
inline constexpr use_task_t use_task{};

} // namespace corewise::io

namespace corewise::io::detail {

/// The result of an initiating function: `Signature` is `void(Results...)`.
template <class Signature> struct use_task_result;
template <class R, class... Results> struct use_task_result<R(Results...)> {
  template <class Initiation, class Token, class... Args>
  static auto initiate(Initiation&& initiation, Token&& token, Args&&... args) {
    using arguments = std::tuple<std::decay_t<Args>...>;
    using begins = std::decay_t<Initiation>;
    if constexpr (std::is_same_v<std::decay_t<Token>, use_task_t>)
      return awaited_operation<kind_of<begins>, begins, arguments, Results...>(
          std::forward<Initiation>(initiation), arguments(std::forward<Args>(args)...), token.error);
    else
      return limited_operation<kind_of<begins>, begins, arguments, Results...>(
          std::forward<Initiation>(initiation), arguments(std::forward<Args>(args)...), token.error,
          token.token, token.time);
  }
};
template <class R, class... Results>
struct use_task_result<R(Results...) noexcept> : use_task_result<R(Results...)> {};

template <class E> struct no_executor {
  static_assert(!std::is_same_v<E, E>,
                "use_task with a stop or a time makes its steps itself: bind no executor to it");
};

} // namespace corewise::io::detail

namespace COREWISE_ASIO {

template <class Signature>
class async_result<corewise::io::use_task_t, Signature>
    : public corewise::io::detail::use_task_result<Signature> {};
template <class Signature>
class async_result<corewise::io::limited_use_task, Signature>
    : public corewise::io::detail::use_task_result<Signature> {};
/// The steps of `use_task` itself guard the data of an operation's cancellation; others do not.
template <class E, class Signature>
class async_result<executor_binder<corewise::io::limited_use_task, E>, Signature>
    : corewise::io::detail::no_executor<E> {};
template <template <class> class Wrapper, class E, class Signature>
class async_result<executor_binder<Wrapper<corewise::io::limited_use_task>, E>, Signature>
    : corewise::io::detail::no_executor<E> {};

} // namespace COREWISE_ASIO
