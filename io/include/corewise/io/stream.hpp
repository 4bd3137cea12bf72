#pragma once

#include <corewise/io/use_task.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace corewise::io {

namespace detail {

/// Buffers as the system takes them, without empty ones; of many the first ones.
template <class Buffers> struct io_vector {
  explicit io_vector(const Buffers& buffers) noexcept {
    std::size_t n = 0;
    for (auto b = asio::buffer_sequence_begin(buffers); b != asio::buffer_sequence_end(buffers) && n < most;
         ++b) {
      const asio::const_buffer part(*b);
      if (part.size() != 0) parts[n++] = {const_cast<void*>(part.data()), part.size()};
    }
    message.msg_iov = parts;
    message.msg_iovlen = n;
  }
  io_vector(const io_vector&) = delete;
  io_vector& operator=(const io_vector&) = delete;

  static constexpr std::size_t most = 16;
  iovec parts[most];
  msghdr message{};
};

/// Opens a socket that is closed on exec and does not block. Returns -1 where the system refuses.
int open_socket(int family, int type, int protocol) noexcept;
void close_socket(int fd) noexcept;
/// Has a socket of TCP hold little that is not sent yet, so that it can be written to soon after the peer has read some.
void limit_unsent(int fd) noexcept;

/// Returns a stream that has taken the descriptor over. Where there can be none, closes it. Throws `system_error`,
/// `std::bad_alloc`.
template <class Stream, class Executor, class Protocol>
Stream adopted(const Executor& on, const Protocol& protocol, int fd) {
  try {
    return Stream(on, protocol, fd);
  } catch (...) {
    close_socket(fd);
    throw;
  }
}

/// How an operation has ended.
struct transfer {
  error_code why;
  std::size_t bytes = 0;
};
/// Receive or send what can be at once. Return whether the operation has ended; else it would wait.
bool try_receive(int fd, msghdr& into, transfer& done) noexcept;
bool try_send(int fd, msghdr& from, transfer& done) noexcept;

/// Decides whether an operation is tried before Asio hears of it. After 16 in a row that were done in place one
/// is left to Asio, so that others have their turn. Where a try was in vain the next ones are left out, up to
/// 16: a server that answers requests finds nothing to read most of the time.
class tries {
 public:
  bool worth_it() noexcept {
    if (left_out_ != 0) return --left_out_, false;
    return true;
  }
  /// Returns whether the operation counts as done in place.
  bool note(bool done) noexcept {
    if (!done) {
      left_out_ = in_vain_ = static_cast<std::uint8_t>(std::min<std::uint32_t>(2U * in_vain_ + 1, most));
      in_place_ = 0;
      return false;
    }
    in_vain_ = 0;
    if (++in_place_ == most) in_place_ = 0, left_out_ = 1;
    return true;
  }

 private:
  static constexpr std::uint8_t most = 16;
  std::uint8_t in_place_ = 0; // in a row
  std::uint8_t in_vain_ = 0;  // how many were left out after the last that was in vain
  std::uint8_t left_out_ = 0; // how many are still to be
};

/// For how long a stream waits at a time to read and to write, and what its operations need for that.
struct wait_limits {
  struct one {
    std::chrono::nanoseconds time{0}; ///< 0: no limit
    std::optional<early_end> spare = {};
  };
  one read;
  one write;

  /// Begins to limit a wait of an operation. Call within a step.
  void begin(wait_kind kind, operation& of) noexcept;
  /// Ends that. An operation that was cancelled for it says so: `why`.
  static void end(operation& of, error_code& why) noexcept;
};

} // namespace detail

/// A connected socket of bytes whose reads and writes by `use_task` are tried first: what succeeds at once, or
/// fails, suspends no coroutine, at most 16 times in a row. Asio would queue that as well. The same holds for
/// the steps of `asio::async_read` and the like, and of Beast's and TLS streams above it. With other tokens it
/// acts as Asio's socket, which it is.
///
/// One task may read while another writes, if the stream was accepted, connected by `async_connect`, or made
/// from a connected socket. Two reads at once are an error of the program, as are two writes. A TLS or websocket stream
/// above it takes one operation at a time.
template <class Protocol> class basic_stream : public asio::basic_stream_socket<Protocol, executor> {
  using base = asio::basic_stream_socket<Protocol, executor>;
  using signature = void(error_code, std::size_t);

 public:
  using notes_waits = void; // its reads, writes and connects, for dumps

  using base::base;
  basic_stream(base&& socket) : base(std::move(socket)) { // NOLINT(google-explicit-constructor): as Asio's
    become_non_blocking();
  }
  /// Takes over a connected socket.
  basic_stream(const executor& on, const Protocol& protocol, const int& connected)
      : base(on, protocol, connected) {
    become_non_blocking();
  }
  basic_stream(basic_stream&&) noexcept = default;
  basic_stream& operator=(basic_stream&&) noexcept = default;
  ~basic_stream() = default;

  /// Limits how long each wait of its reads and its writes lasts, in operations of `use_task`, composed ones too: then
  /// they end with `asio::error::timed_out`. 0 or less: no limit. Where an operation has a time of its own
  /// (`use_task.within`), that one counts alone. Outside of an engine's coroutines no time is kept. One read and one
  /// write may wait at once, no more: all reads share the place of one timer, and so do all writes. A socket of TCP
  /// with a limit of its writes holds at most 64 KiB that are not sent (TCP_NOTSENT_LOWAT). Otherwise it would become
  /// writable only when a third of its buffer, of megabytes, is free, and the limit would cut off a slow, steady peer.
  /// Call while no operation is under way. Cost of a limit: a timer for each wait, set and stopped. Throws
  /// `std::bad_alloc`.
  void limit_waits(any_duration read, any_duration write) {
    limits_.reset();
    if (std::max<std::chrono::nanoseconds>(read, write).count() <= 0) return;
    limits_ = std::make_unique<detail::wait_limits>();
    limits_->read.time = read;
    limits_->write.time = write;
    prepare_to_limit_writes();
  }

  /// Connects to a peer. The socket is closed on exec, and does not block.
  template <class Token = const use_task_t&>
  auto async_connect(const typename Protocol::endpoint& peer, Token&& token = use_task) {
    if (!this->is_open()) {
      const Protocol protocol = peer.protocol();
      const int fd = detail::open_socket(protocol.family(), protocol.type(), protocol.protocol());
      if (fd >= 0) take_over(protocol, fd); // without a socket Asio tells why
    }
    return asio::async_initiate<Token, void(error_code)>(connecting{this}, token, peer);
  }
  /// Reads at least a byte into the buffers. Returns how many; the end of the stream is the error
  /// `asio::error::eof`.
  template <class Buffers, class Token = const use_task_t&>
  auto async_read_some(const Buffers& into, Token&& token = use_task) {
    return asio::async_initiate<Token, signature>(reading{this}, token, into);
  }
  /// Writes at least a byte of the buffers. Returns how many.
  template <class Buffers, class Token = const use_task_t&>
  auto async_write_some(const Buffers& from, Token&& token = use_task) {
    return asio::async_initiate<Token, signature>(writing{this}, token, from);
  }

 private:
  /// Has the stream own the socket, or closes it where that cannot be.
  void take_over(const Protocol& protocol, int fd) noexcept {
    try {
      auto limits = std::move(limits_);
      *this = detail::adopted<basic_stream>(this->get_executor(), protocol, fd);
      limits_ = std::move(limits);
      prepare_to_limit_writes();
    } catch (const std::exception&) {
      return; // it is closed
    }
  }
  void prepare_to_limit_writes() noexcept {
    if (limits_ != nullptr && limits_->write.time.count() > 0 && this->is_open())
      detail::limit_unsent(this->native_handle());
  }
  /// Asio does it late, at the first operation that waits, and then two operations must not begin at once.
  void become_non_blocking() {
    error_code ignored; // later operations tell it
    if (this->is_open()) this->native_non_blocking(true, ignored);
  }

  // Functions that begin an operation. Asio gives them the handler.

  struct reading {
    using executor_type = executor;
    static constexpr corewise::wait_kind kind = corewise::wait_kind::read;
    executor_type get_executor() const noexcept { return of->get_executor(); }
    template <class Handler, class Buffers> void operator()(Handler&& handler, const Buffers& into) const {
      of->read(std::forward<Handler>(handler), into);
    }
    basic_stream* of;
  };
  struct writing {
    using executor_type = executor;
    static constexpr corewise::wait_kind kind = corewise::wait_kind::write;
    executor_type get_executor() const noexcept { return of->get_executor(); }
    template <class Handler, class Buffers> void operator()(Handler&& handler, const Buffers& from) const {
      of->write(std::forward<Handler>(handler), from);
    }
    basic_stream* of;
  };

  struct connecting {
    using executor_type = executor;
    static constexpr corewise::wait_kind kind = corewise::wait_kind::connect;
    executor_type get_executor() const noexcept { return of->get_executor(); }
    template <class Handler>
    void operator()(Handler&& handler, const typename Protocol::endpoint& peer) const {
      if constexpr (detail::runs_steps<Handler>) {
        if (of->comes_too_late(handler)) return;
        if (of->is_open())
          of->executor_of(handler).note_wait(kind, of->native_handle(), peer.data(), peer.size());
      }
      of->base::async_connect(peer, std::forward<Handler>(handler));
    }
    basic_stream* of;
  };

  /// Reads, or writes, when that is possible: so the worker that finds the event does neither itself, unless it takes the
  /// coroutine up.
  template <wait_kind Kind, class Handler, class Buffers> struct ready {
    using executor_type = detail::step_executor;
    using allocator_type = asio::associated_allocator_t<Handler>;
    using cancellation_slot_type = asio::associated_cancellation_slot_t<Handler>;

    executor_type get_executor() const noexcept {
      return asio::get_associated_executor(handler, of->get_executor());
    }
    allocator_type get_allocator() const noexcept { return asio::get_associated_allocator(handler); }
    cancellation_slot_type get_cancellation_slot() const noexcept {
      const auto own = asio::get_associated_cancellation_slot(handler);
      if constexpr (std::is_same_v<cancellation_slot_type, asio::cancellation_slot>)
        if (of->limits_ != nullptr && !own.is_connected()) [[unlikely]]
          return get_executor().of().slot(); // the limit's
      return own;
    }
    void operator()(error_code why) {
      detail::transfer done{why};
      if (of->limits_ != nullptr) [[unlikely]]
        detail::wait_limits::end(get_executor().of(), done.why);
      if (!why) {
        constexpr auto attempt = Kind == wait_kind::read ? detail::try_receive : detail::try_send;
        detail::io_vector<Buffers> all(buffers);
        if (!attempt(of->native_handle(), all.message, done))
          return of->wait_until(std::move(*this)); // another one's, or a false alarm
      }
      Handler called(std::move(handler));
      std::move(called)(done.why, done.bytes);
    }

    basic_stream* of;
    Buffers buffers;
    Handler handler;
  };

  template <class Handler, class Buffers> void read(Handler&& handler, const Buffers& into) {
    if constexpr (detail::runs_steps<Handler>) {
      if (done_in_place<detail::try_receive>(read_tries_, handler, into)) return;
      if (comes_too_late(handler)) return;
      if (this->is_open() && asio::buffer_size(into) != 0)
        return read_when_due(ready<wait_kind::read, std::decay_t<Handler>, Buffers>{
            this, into, std::forward<Handler>(handler)});
    }
    base::async_read_some(into, std::forward<Handler>(handler));
  }
  /// Where tasks wait on this worker, tries again when they have run: a busy peer has sent something meanwhile, and the
  /// driver has nothing to do with it.
  template <wait_kind Kind, class... Parts> void read_when_due(ready<Kind, Parts...>&& then) {
    detail::operation& of = executor_of(then.handler).of();
    if (!of.others_wait_here()) return wait_until(std::move(then));
    of.make_step_behind([again = std::move(then)]() mutable { again(error_code()); });
  }
  template <wait_kind Kind, class... Parts> void wait_until(ready<Kind, Parts...>&& then) {
    const detail::step_executor steps = executor_of(then.handler);
    steps.note_wait(Kind, this->native_handle());
    if (limits_ != nullptr) [[unlikely]]
      limits_->begin(Kind, steps.of());
    base::async_wait(Kind == wait_kind::read ? base::wait_read : base::wait_write, std::move(then));
  }
  template <class Handler, class Buffers> void write(Handler&& handler, const Buffers& from) {
    if constexpr (detail::runs_steps<Handler>) {
      if (done_in_place<detail::try_send>(write_tries_, handler, from)) return;
      if (comes_too_late(handler)) return;
      if (limits_ != nullptr) [[unlikely]]
        return write_in_time(handler, from);
      if (this->is_open()) executor_of(handler).note_wait(wait_kind::write, this->native_handle());
    }
    base::async_write_some(from, std::forward<Handler>(handler));
  }
  /// Not inlined: else each write without limits would take a little longer.
  template <class Handler, class Buffers>
  [[gnu::noinline, gnu::cold]] void write_in_time(Handler& handler, const Buffers& from) {
    if (!this->is_open() || asio::buffer_size(from) == 0)
      return base::async_write_some(from, std::move(handler));
    wait_until(ready<wait_kind::write, Handler, Buffers>{this, from, std::move(handler)});
  }
  /// Tries an operation, if that is worth it. If it has ended, calls the handler here, as a step within the step
  /// that has begun the operation. Returns whether it has. Inlined: called, it costs a twentieth of a short read
  /// or write more.
  template <auto Attempt, class Handler, class Buffers>
  [[gnu::always_inline]] bool done_in_place(detail::tries& tries, Handler& handler, const Buffers& buffers) {
    if (!tries.worth_it() || !this->is_open()) return false;
    detail::io_vector<Buffers> all(buffers);
    detail::transfer done;
    if (!tries.note(Attempt(this->native_handle(), all.message, done))) return false;
    static_cast<void>(executor_of(handler));
    std::decay_t<Handler> called(std::move(handler));
    std::move(called)(done.why, done.bytes);
    return true;
  }
  /// Returns whether the engine has ended: then the caller destroys the handler, which ends its operation.
  template <class Handler> bool comes_too_late(const Handler& handler) {
    return executor_of(handler).of().comes_too_late();
  }
  /// Returns the executor of the handler's operation, which notes that of the stream, as with Asio's functions.
  template <class Handler> detail::step_executor executor_of(const Handler& handler) {
    return asio::get_associated_executor(handler, this->get_executor());
  }

  detail::tries read_tries_;                    // the reader's
  detail::tries write_tries_;                   // the writer's
  std::unique_ptr<detail::wait_limits> limits_; // null: it waits as long as it takes
};

using tcp_stream = basic_stream<asio::ip::tcp>;
using unix_stream = basic_stream<asio::local::stream_protocol>;

} // namespace corewise::io
