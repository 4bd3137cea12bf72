#pragma once

#include <corewise/io/detail/initiation.hpp>
#include <corewise/io/detail/operation.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

// The object that a coroutine awaits: an operation with its results, and the handler that Asio calls with them.

namespace corewise::io::detail {

template <class... Results> class handler;

/// The results with which a handler is called when its operation was given up before it ended; nothing where
/// they cannot be made. A result that is a tuple is that of `asio::as_tuple`.
template <class Results> struct aborted_results {
  static constexpr bool can_be_made = false;
};
template <class... Rest>
  requires std::is_default_constructible_v<std::tuple<Rest...>>
struct aborted_results<std::tuple<error_code, Rest...>> {
  static constexpr bool can_be_made = true;
  static auto make() { return std::tuple<error_code, Rest...>(asio::error::operation_aborted, Rest()...); }
};
template <class... Rest>
  requires aborted_results<std::tuple<Rest...>>::can_be_made
struct aborted_results<std::tuple<std::tuple<Rest...>>> {
  static constexpr bool can_be_made = true;
  static std::tuple<std::tuple<Rest...>> make() { return {aborted_results<std::tuple<Rest...>>::make()}; }
};

/// An operation whose handler is called with `Results`.
template <class... Results> class operation_with : public operation {
 public:
  using results = std::tuple<std::decay_t<Results>...>;

  template <class... Args> void complete_with(Args&&... args) noexcept {
    results_.emplace(std::forward<Args>(args)...);
    complete();
  }

 protected:
  static constexpr bool tells_error =
      std::is_same_v<std::tuple_element_t<0, std::tuple<std::decay_t<Results>..., void>>, error_code>;
  static constexpr bool tells_exception =
      std::is_same_v<std::tuple_element_t<0, std::tuple<std::decay_t<Results>..., void>>, std::exception_ptr>;

  /// Returns what the handler was called with, less the error, which goes to `error`. Throws it where that is null.
  auto take(error_code* error) {
    this->resumed();
    this->rethrow_thrown();
    if (!results_) note_aborted();
    if constexpr (tells_error) {
      const error_code& why = std::get<0>(*results_);
      if (error != nullptr)
        *error = why;
      else if (why)
        throw system_error(why);
      return rest(std::make_index_sequence<sizeof...(Results) - 1>());
    } else if constexpr (tells_exception) {
      if (std::get<0>(*results_)) std::rethrow_exception(std::get<0>(*results_));
      return rest(std::make_index_sequence<sizeof...(Results) - 1>());
    } else {
      return all();
    }
  }

  /// The time was over: what was cancelled says so.
  void note_expired() {
    if constexpr (tells_error) {
      if (results_ && std::get<0>(*results_) == asio::error::operation_aborted)
        std::get<0>(*results_) = asio::error::timed_out;
    } else if constexpr (aborted_results<results>::can_be_made) { // of `as_tuple`
      if (results_ && std::get<0>(std::get<0>(*results_)) == asio::error::operation_aborted)
        std::get<0>(std::get<0>(*results_)) = asio::error::timed_out;
    }
  }
  /// The operation was given up, or never begun.
  void note_aborted() {
    if constexpr (aborted_results<results>::can_be_made)
      results_.emplace(aborted_results<results>::make());
    else
      throw system_error(asio::error::operation_aborted);
  }

  std::optional<results> results_;

 private:
  template <std::size_t... At> auto rest(std::index_sequence<At...> /*at*/) {
    if constexpr (sizeof...(At) == 1)
      return (std::get<At + 1>(std::move(*results_)), ...);
    else if constexpr (sizeof...(At) != 0)
      return std::tuple(std::get<At + 1>(std::move(*results_))...);
  }
  auto all() {
    if constexpr (sizeof...(Results) == 1)
      return std::get<0>(std::move(*results_));
    else if constexpr (sizeof...(Results) != 0)
      return std::move(*results_);
  }
};

/// The handler of an operation. A handler that is destroyed unrun ends its operation without a result. One that was moved
/// from still has its allocator: where Asio gives an operation up, it gives memory back by that.
template <class... Results> class handler {
 public:
  using operations_own = void;
  using executor_type = step_executor;
  using allocator_type = step_allocator<void>;
  using cancellation_slot_type = asio::cancellation_slot;

  explicit handler(operation_with<Results...>& of) noexcept : of_(reinterpret_cast<std::uintptr_t>(&of)) {}
  handler(handler&& other) noexcept : of_(std::exchange(other.of_, other.of_ | done)) {}
  handler& operator=(handler&&) = delete;
  ~handler() {
    if ((of_ & done) == 0) owner().complete();
  }

  template <class... Args> void operator()(Args&&... args) {
    of_ |= done;
    owner().complete_with(std::forward<Args>(args)...);
  }

  operation& of() const noexcept { return owner(); }
  executor_type get_executor() const noexcept { return step_executor(owner()); }
  allocator_type get_allocator() const noexcept { return allocator_type(owner()); }
  cancellation_slot_type get_cancellation_slot() const noexcept { return owner().slot(); }

 private:
  static constexpr std::uintptr_t done = 1; // in place of a flag, since the handler lies in the frame

  operation_with<Results...>& owner() const noexcept {
    return *reinterpret_cast<operation_with<Results...>*>(of_ & ~done); // NOLINT(performance-no-int-to-ptr)
  }

  std::uintptr_t of_;
};

/// Returns whether an initiation is of an object whose engine has ended. Those of the engine's own streams see to it
/// themselves, since they try before they wait.
template <class Initiation> bool comes_too_late(const Initiation& of) noexcept {
  if constexpr (wraps_initiation<const Initiation>) {
    return comes_too_late(of.initiation_);
  } else if constexpr (requires { of.get_executor(); } && !requires { Initiation::kind; }) {
    const auto& where = of.get_executor();
    const executor* const own = own_executor(where);
    return own != nullptr && own->of().ended();
  } else {
    return false;
  }
}

/// Awaits what an initiating function of Asio begins. Lives in the awaiting frame.
template <corewise::wait_kind Kind, class Initiation, class Arguments, class... Results>
class [[nodiscard]] awaited_operation : public operation_with<Results...> {
  using base = operation_with<Results...>;

 public:
  awaited_operation(Initiation initiation, Arguments arguments, error_code* error)
      : initiation_(std::move(initiation)),
        arguments_(std::move(arguments)),
        error_(error) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) {
    this->suspend(suspended, how);
    return this->begin(nullptr, [this] { start(); }, [] {});
  }
  auto await_resume() { return this->take(error_); }

 protected:
  void start() {
    if (comes_too_late(initiation_)) return this->complete(); // without a result: it is given up
    handler<Results...> made(*this); // first: where an argument throws it ends the operation
    std::apply([&](auto&... args) { std::move(initiation_)(std::move(made), std::move(args)...); },
               arguments_);
    if constexpr (names_descriptor<Initiation>) this->name_wait();
  }
  error_code* error() const noexcept { return error_; }

  /// The end of an engine ends the operations of its contexts before it withdraws coroutines. An operation that
  /// still waits is elsewhere, and its thread will write into the frame.
  static corewise::detail::withdrawal withdraw(suspension& s) noexcept {
    using corewise::detail::withdrawal;
    return static_cast<awaited_operation&>(s).keep() ? withdrawal::of_end : withdrawal::of_waker;
  }
  /// Names an operation of Asio's own objects.
  static void name(operation& of) noexcept {
    if constexpr (names_descriptor<Initiation>) {
      const auto& self = static_cast<awaited_operation&>(of);
      const int descriptor = descriptor_of(self.initiation_);
      if (descriptor < 0) return;
      const sockaddr* peer = nullptr;
      std::size_t size = 0;
      const auto look = [&]<class T>(const T& argument) {
        if constexpr (is_endpoint<T>) peer = argument.data(), size = argument.size();
      };
      std::apply([&](const auto&... arguments) { (look(arguments), ...); }, self.arguments_);
      of.note_wait(Kind, descriptor, peer, size);
    }
  }
  [[gnu::visibility("hidden")]] static constexpr operation_record how{
      {Kind, &withdraw, corewise::detail::wait_end::settle}, names_descriptor<Initiation> ? &name : nullptr};

 private:
  Initiation initiation_;
  Arguments arguments_;
  error_code* const error_;
};

/// Awaits the same until a stop, or for a time.
template <corewise::wait_kind Kind, class Initiation, class Arguments, class... Results>
class [[nodiscard]] limited_operation : public awaited_operation<Kind, Initiation, Arguments, Results...> {
  using base = awaited_operation<Kind, Initiation, Arguments, Results...>;

 public:
  limited_operation(Initiation initiation, Arguments arguments, error_code* error, std::stop_token token,
                    std::optional<std::chrono::nanoseconds> within)
      : base(std::move(initiation), std::move(arguments), error),
        early_(*this, within),
        token_(std::move(token)) {}

  /// After a stop nothing is begun, unless only the operation itself can make its result.
  bool await_ready() const noexcept {
    return aborted_results<typename base::results>::can_be_made && token_.stop_requested();
  }
  template <class Promise> bool await_suspend(std::coroutine_handle<Promise> suspended) {
    this->suspend(suspended, base::how);
    return this->begin(
        &early_, [this] { this->start(); },
        [this] {
          if (token_.stop_possible()) stopper_.emplace(token_, stopper{this});
        });
  }
  auto await_resume() {
    stopper_.reset(); // waits for it, unless this thread is in it
    if (early_.expired()) this->note_expired();
    return this->take(this->error());
  }

 private:
  struct stopper {
    limited_operation* self;
    void operator()() const noexcept { self->cancel(); }
  };

  early_end early_;
  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> stopper_;
};

/// Whether a handler's steps may be made where the operation is begun: it is a handler as above, or that of an
/// operation that is composed for one.
template <class Handler>
inline constexpr bool runs_steps =
    std::is_same_v<typename asio::associated_executor<std::decay_t<Handler>, executor>::type, step_executor>;

} // namespace corewise::io::detail

namespace COREWISE_ASIO {

/// Whatever asks for a handler's executor names that of the socket.
template <class... Results, class E>
struct associated_executor<corewise::io::detail::handler<Results...>, E> {
  using type = corewise::io::detail::step_executor;
  static type get(const corewise::io::detail::handler<Results...>& h, const E& of) noexcept {
    h.of().note_executor(of);
    return h.get_executor();
  }
  static type get(const corewise::io::detail::handler<Results...>& h) noexcept { return h.get_executor(); }
};

} // namespace COREWISE_ASIO
