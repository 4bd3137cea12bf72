#include "listener_groups.hpp"
#include "listening_sockets.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/semaphore.hpp>
#include <corewise/engine/sleep.hpp>
#include <corewise/engine/yield.hpp>
#include <corewise/io/listen.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace corewise::io::detail {

namespace {

/// Connections that a listener takes before other tasks of its worker have their turn.
constexpr int accepted_at_once = 16;
/// The pause while the system gives no descriptor or memory for a connection.
constexpr std::chrono::milliseconds shortage_pause{50};
/// The pause of a connection for which the engine has no room.
constexpr std::chrono::milliseconds fullness_pause{1};
constexpr int closed = -1; // in place of a descriptor

std::string_view text_of(int error) noexcept {
  const char* const text = ::strerrordesc_np(error);
  return text != nullptr ? text : "unknown error";
}

using corewise::detail::unbegun_task;
using listening_socket = asio::posix::basic_stream_descriptor<executor>;

/// Begins to wait for connections, so that dumps call the wait `accept`.
struct accepting {
  static constexpr wait_kind kind = wait_kind::accept;
  explicit accepting(listening_socket* socket) noexcept : on(socket) {}
  template <class Handler> void operator()(Handler&& handler) const {
    on->async_wait(asio::posix::descriptor_base::wait_read, std::forward<Handler>(handler));
  }
  listening_socket* on;
};

} // namespace

class listener_core : public std::enable_shared_from_this<listener_core> {
 public:
  listener_core(service& io, listen_options options, connection_handler handler)
      : engine_(io.on()),
        options_(std::move(options)),
        handler_(std::move(handler)),
        most_waiting_(most_waiting(options_)),
        groups_(io),
        places_(std::min(options_.most_connections, semaphore::largest)) {} // more are never open at once
  listener_core(const listener_core&) = delete;
  listener_core& operator=(const listener_core&) = delete;

  /// Returns what its sockets are to receive: one for each group, or one for all.
  wanted_sockets wanted() const {
    const bool by_cpu = options_.balance == listen_options::balancing::receiving_cpu;
    wanted_sockets sockets(by_cpu ? groups_.with_socket() : 1);
    if (engine_.machine().is_this_system())
      for (std::size_t g = 0; g < groups_.with_socket(); ++g)
        sockets[by_cpu ? g : 0] |= engine_.groups()[groups_[g].id].cpus;
    return sockets;
  }
  void warn_not_steered(int error) const {
    driving::warn_once(driving::of(engine_), log_code::not_steered,
                       "connections are not steered to the CPUs that receive them", text_of(error));
  }

  /// Begins to accept from these sockets.
  void start(std::vector<descriptor> sockets) {
    port_ = port_of(sockets.front().get());
    to_lightest_ = options_.balance == listen_options::balancing::lightest || !options_.adopted.empty() ||
                   sockets.size() < groups_.with_socket();
    engine_stop_.emplace(engine_.stop_token(), stopper{this});
    numbers_ = std::vector<atomic<int>>(sockets.size());
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      listener_group& g = groups_[i % groups_.with_socket()];
      open_socket counted(shared_from_this(), numbers_[i], std::move(sockets[i]));
      // A refused task is destroyed, and with it the socket.
      static_cast<void>(engine_.submit(accept_in(std::move(counted), g), {.group = g.id, .daemon = true}));
    }
  }

  void stop() noexcept {
    if (is_here())
      stop_.request_stop();
    else
      close_here();
  }
  void wait_until_closed() {
    if (!is_here()) return; // the parent's threads may hold the lock for ever
    std::unique_lock lock(mutex_);
    closed_.wait(lock, [this] { return open_sockets_ == 0; });
  }
  std::uint16_t port() const noexcept { return port_; }
  listener_counts counts(std::optional<group_id> of = {}) const noexcept { return groups_.counts(of); }

 private:
  struct stopper {
    listener_core* self;
    void operator()() const noexcept { self->stop(); }
  };

  /// Returns whether this process has the threads that accept: the child of a process fork has not.
  bool is_here() const noexcept { return ::getpid() == process_; }
  /// Closes the sockets of the child of a process fork, or the parent's address stays taken.
  void close_here() noexcept {
    for (atomic<int>& number : numbers_)
      if (const int fd = number.exchange(closed, std::memory_order_relaxed); fd != closed) ::close(fd);
  }

  // --- accepting. A coroutine for each socket.

  /// Has a listening socket, and counts it as open, until the coroutine that accepts from it is gone.
  class open_socket {
   public:
    open_socket(std::shared_ptr<listener_core> of, atomic<int>& number, descriptor fd)
        : of_(std::move(of)),
          number_(&number),
          fd_(std::move(fd)) {
      number_->store(fd_.get(), std::memory_order_relaxed);
      const std::scoped_lock lock(of_->mutex_);
      ++of_->open_sockets_;
    }
    open_socket(open_socket&& other) noexcept = default;
    open_socket& operator=(open_socket&&) = delete;
    ~open_socket() {
      if (of_ == nullptr) return;
      number_->store(closed, std::memory_order_relaxed); // before another file may get it
      ready_.reset();
      if (fd_.get() >= 0) ::close(fd_.release());
      of_->note_closed();
    }
    listener_core& of() const noexcept { return *of_; }
    /// Returns what waits for connections. Throws where there is no memory for it.
    listening_socket& ready(const executor& here) {
      if (!ready_) {
        ready_.emplace(here, fd_.get());
        fd_.release();
      }
      return *ready_;
    }

   private:
    std::shared_ptr<listener_core> of_;
    atomic<int>* number_;
    descriptor fd_;
    std::optional<listening_socket> ready_;
  };

  static task<> accept_in(open_socket socket, listener_group& own) {
    listener_core& self = socket.of();
    const std::stop_token stop = self.stop_.get_token();
    std::int64_t left = self.most_waiting_ + 1; // to accept after a stop: more cannot have come before it
    for (;;) {
      const bool last =
          stop.stop_requested(); // asked first: what came before the stop is found by a look after it
      int error = 0;
      try {
        listening_socket& ready = socket.ready(own.here);
        error = co_await self.accept_some(own, ready.native_handle(), stop);
        if (error == EAGAIN && !last) {
          error_code ignored;
          const auto until = use_task(stop).into(ignored);
          co_await asio::async_initiate<const limited_use_task, void(error_code)>(accepting(&ready), until);
          continue;
        }
      } catch (const std::bad_alloc&) {
        error = ENOMEM;
      } catch (const system_error& refused) {
        error = refused.code().value();
      }
      if (last) left -= accepted_at_once;
      if (left <= 0) break;
      if (error == 0) {
        co_await yield(); // more may wait
        continue;
      }
      if (error != EAGAIN) // EMFILE and its like: later it may succeed
        driving::warn_once(driving::of(self.engine_), log_code::accept_paused,
                           "connections wait: the system gives no descriptor or memory for them",
                           text_of(error));
      if (last) break; // no connection waits any more, or none can be accepted
      co_await sleep_for(shortage_pause, stop);
    }
  }

  /// Accepts some connections. Returns 0, or the error that ended it; EAGAIN: none waits.
  task<int> accept_some(listener_group& own, int fd, std::stop_token stop) {
    for (int i = 0; i < accepted_at_once; ++i) {
      const bool limited = options_.most_connections != 0;
      const bool waits = options_.on_excess == listen_options::excess::wait;
      const bool waits_for_place = limited && waits;
      if (waits_for_place && !places_.try_acquire()) {
        if (!co_await places_.acquire(stop)) co_return EAGAIN; // told to stop while full
      }
      const int accepted = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) {
        const int error = errno; // a waiter that is woken makes calls of its own
        if (waits_for_place) places_.release();
        if (is_of_connection(error)) continue;
        co_return error == EWOULDBLOCK ? EAGAIN : error;
      }
      descriptor connection(accepted);
      if (limited && !waits && !places_.try_acquire()) {
        own.add(&connection_counts::refused);
        continue;
      }
      // The kernel gives a group connections also when its workers have retired: they are not to stay there.
      const bool stays = !to_lightest_ && groups_.is_active(own);
      listener_group& to = stays ? own : groups_.lightest(own);
      unbegun_task refused = begin(to, std::move(connection), /*has_place=*/limited);
      while (refused && waits) { // the next ones wait in the kernel
        co_await sleep_for(fullness_pause);
        if (driving::has_room(driving::of(engine_))) offer(refused, to);
      }
    }
    co_return 0;
  }

  /// Begins to handle a connection. Returns what would do so, if the engine is full: destroyed, it closes the connection.
  unbegun_task begin(listener_group& to, descriptor connection, bool has_place) {
    const int on = 1;
    ::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // not for unix sockets
    to.add(&connection_counts::open);
    open_connection counted(shared_from_this(), to, has_place);
    unbegun_task made(handle(std::move(counted), std::move(connection)).release_to(driving::of(engine_)));
    offer(made, to);
    return made;
  }
  void offer(unbegun_task& made, const listener_group& to) {
    const submit_result in = driving::offer(driving::of(engine_), made, {.group = to.id});
    if (in == submit_result::stopping) made.reset();
  }

  /// Counts a connection as open until its handler is gone, and as accepted or refused, once.
  class open_connection {
   public:
    open_connection(std::shared_ptr<listener_core> of, listener_group& in, bool has_place) noexcept
        : of_(std::move(of)),
          in_(&in),
          has_place_(has_place) {}
    open_connection(open_connection&& other) noexcept = default;
    open_connection& operator=(open_connection&&) = delete;
    ~open_connection() {
      if (of_ == nullptr) return;
      if (!is_given_) in_->add(&connection_counts::refused);
      in_->add(&connection_counts::open, -1);
      if (has_place_) of_->places_.release();
    }
    listener_core& of() const noexcept { return *of_; }
    const executor& here() const noexcept { return in_->here; }
    /// Notes that a handler has the connection.
    void note_given() noexcept {
      is_given_ = true;
      in_->add(&connection_counts::accepted);
    }

   private:
    std::shared_ptr<listener_core> of_;
    listener_group* in_;
    bool has_place_;
    bool is_given_ = false;
  };

  static task<> handle(open_connection counted, descriptor connection) {
    std::optional<task<>> handled = counted.of().begin_handler(counted, std::move(connection));
    if (handled) co_await *std::move(handled);
  }
  /// Makes the stream, and the handler's coroutine. Where there is no memory for them, or the system does not watch the
  /// socket, the connection is closed, and no other harmed. Other exceptions are the handler's own.
  std::optional<task<>> begin_handler(open_connection& of, descriptor connection) {
    int error = 0;
    bool has_stream = false;
    try {
      std::optional<task<>> handled = handler_(of.here(), connection.release(), has_stream);
      of.note_given();
      return handled;
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    } catch (const system_error& refused) {
      if (has_stream) throw_of_handler(of);
      error = refused.code().value();
    } catch (...) {
      throw_of_handler(of);
    }
    driving::warn_once(
        driving::of(engine_), log_code::accept_paused,
        "connections are closed: there is no memory for them, or the system does not watch them",
        text_of(error));
    return std::nullopt;
  }

  /// Call in a handler of exceptions.
  [[noreturn]] static void throw_of_handler(open_connection& of) {
    of.note_given();
    throw;
  }

  void note_closed() {
    const std::scoped_lock lock(mutex_);
    if (--open_sockets_ == 0) closed_.notify_all();
  }

  engine& engine_;
  const listen_options options_;
  const connection_handler handler_;
  const std::int64_t most_waiting_; // in the kernel, for a socket
  listener_groups groups_;
  semaphore places_;
  std::stop_source stop_;
  std::optional<std::stop_callback<stopper>> engine_stop_;
  std::uint16_t port_ = 0;
  bool to_lightest_ = false; // each connection goes to the lightest group, not to that of its socket
  const pid_t process_ = ::getpid();
  std::vector<atomic<int>> numbers_; // of open sockets, for the child of a process fork. Relaxed: numbers
  corewise::detail::mutex mutex_;
  corewise::detail::condition_variable closed_;
  std::size_t open_sockets_ = 0; // guarded
};

std::vector<std::shared_ptr<listener_core>> start_listeners(std::span<service* const> all,
                                                            const sockaddr* address, std::size_t size,
                                                            const listen_options& options,
                                                            const connection_handler& handler) {
  if (all.empty()) throw std::invalid_argument("io::listen: no service");
  std::vector<std::shared_ptr<listener_core>> listeners;
  std::vector<wanted_sockets> wanted;
  for (service* const io : all) {
    listeners.push_back(std::make_shared<listener_core>(*io, options, handler));
    wanted.push_back(listeners.back()->wanted());
  }
  listening_sockets sockets = open_sockets(address, size, options, wanted);
  if (sockets.not_steered != 0) listeners.front()->warn_not_steered(sockets.not_steered);
  try {
    for (std::size_t i = 0; i < listeners.size(); ++i) listeners[i]->start(std::move(sockets.of[i]));
  } catch (...) {
    for (const auto& begun : listeners) begun->stop();
    throw;
  }
  return listeners;
}

} // namespace corewise::io::detail

namespace corewise::io {

void listener::stop() noexcept { core_->stop(); }
void listener::wait_until_closed() const { core_->wait_until_closed(); }
listener_counts listener::counts() const noexcept { return core_->counts(); }
listener_counts listener::counts(group_id g) const { return core_->counts(g); }
std::uint16_t listener::port() const noexcept { return core_->port(); }

} // namespace corewise::io
