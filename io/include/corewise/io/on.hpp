#pragma once

#include <corewise/engine/engine.hpp>
#include <corewise/engine/future.hpp>
#include <corewise/io/asio.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace corewise::io {

namespace detail {

/// The signature of a call's completion.
template <class R> struct call_signature {
  using type = void(std::exception_ptr, R);
};
template <> struct call_signature<void> {
  using type = void(std::exception_ptr);
};

/// A call that an engine makes for a handler of Asio's. The handler is called in its own executor, when the call
/// has returned, or with `not_run` when the engine has refused or dropped it.
template <class Handler, class F> class handled_call {
  using result = std::invoke_result_t<F&>;
  using executor_type = asio::associated_executor_t<Handler, asio::system_executor>;

 public:
  handled_call(Handler handler, F f)
      : function_(std::move(f)),
        handler_(std::move(handler)),
        work_(asio::prefer(asio::get_associated_executor(*handler_, asio::system_executor()),
                           asio::execution::outstanding_work.tracked)) {}
  handled_call(handled_call&& other) noexcept
      : function_(std::move(other.function_)),
        handler_(std::exchange(other.handler_, std::nullopt)),
        work_(std::move(other.work_)) {}
  handled_call& operator=(handled_call&&) = delete;
  ~handled_call() {
    if (handler_) settle_unrun();
  }

  void operator()() {
    std::exception_ptr error;
    if constexpr (std::is_void_v<result>) {
      try {
        function_();
      } catch (...) {
        error = std::current_exception();
      }
      settle(error);
    } else {
      std::optional<result> value;
      try {
        value.emplace(function_());
      } catch (...) {
        error = std::current_exception();
        value.emplace();
      }
      settle(error, std::move(*value));
    }
  }

 private:
  void settle_unrun() noexcept {
    if constexpr (std::is_void_v<result>)
      settle(not_run_error());
    else
      settle(not_run_error(), result());
  }
  static std::exception_ptr not_run_error() noexcept {
    for (;;) try {
        return std::make_exception_ptr(not_run());
      } catch (const std::bad_alloc&) { // by its text
        wait_for_memory();
      }
  }
  static void wait_for_memory() noexcept { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
  /// The handler and what it is called with. Made in one step, so that without memory nothing has been moved.
  template <class... Results> struct completion {
    completion(Handler& h, std::exception_ptr& e, Results&... r)
        : handler(std::move(h)),
          error(std::move(e)),
          results(std::move(r)...) {}
    void operator()() {
      std::apply([this](auto&... r) { std::move(handler)(std::move(error), std::move(r)...); }, results);
    }
    Handler handler;
    std::exception_ptr error;
    std::tuple<Results...> results;
  };
  template <class... Results> void settle(std::exception_ptr error, Results... results) {
    std::shared_ptr<completion<Results...>> ends;
    for (;;) try {
        if (!ends) {
          ends = std::make_shared<completion<Results...>>(*handler_, error, results...);
          handler_.reset();
        }
        return asio::post(work_, [ends] { (*ends)(); });
      } catch (const std::bad_alloc&) { // the handler must be called
        wait_for_memory();
      }
  }

  F function_;
  std::optional<Handler> handler_;
  std::decay_t<decltype(asio::prefer(std::declval<executor_type>(),
                                     asio::execution::outstanding_work.tracked))>
      work_;
};

} // namespace detail

/// `co_await io::on(engine, f, asio::use_awaitable)`: calls `f()` once as a task of the engine, and completes with
/// its result, in the executor of the token's handler. For coroutines and handlers of Asio's own contexts. If
/// the engine refuses or drops the task, or there is no memory for it, it completes with `not_run`; while there is no
/// memory to complete either, the thread waits for some. The result of `f` can be made without arguments.
template <class F, class Token> auto on(engine& e, F f, Token&& token, const hint& wish = no_hint) {
  using signature = typename detail::call_signature<std::invoke_result_t<F&>>::type;
  return asio::async_initiate<Token, signature>(
      [&e, wish](auto handler, F call) {
        detail::handled_call made(std::move(handler), std::move(call));
        try {
          static_cast<void>(e.submit(std::move(made), wish));
        } catch (const std::bad_alloc&) {
          return; // the call is gone, or goes now: it completes with `not_run`
        }
      },
      token, std::move(f));
}

} // namespace corewise::io
