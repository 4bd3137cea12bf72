#include "descriptor.hpp"

#include <corewise/engine/task.hpp>
#include <corewise/io/detail/group_context.hpp>
#include <corewise/policies/detail/clock.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace corewise::io::detail {

namespace {

constexpr std::uint8_t single_looks = 8;

/// The alarm is set anew only if the time differs by more than this.
constexpr std::int64_t alarm_slack_ns = 1000;

constexpr std::chrono::nanoseconds longest_nap = std::chrono::milliseconds{1};

/// Returns "10.0.0.7:443", "[::1]:443", the path of a unix socket, or nothing.
std::string text_of(const sockaddr_storage& at, std::size_t size) {
  if (at.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(at);
    constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
    if (size <= before) return {};
    if (local.sun_path[0] == 0) return "@" + std::string(local.sun_path + 1, size - before - 1);
    return {local.sun_path, ::strnlen(local.sun_path, size - before)};
  }
  if (at.ss_family != AF_INET && at.ss_family != AF_INET6) return {};
  asio::ip::tcp::endpoint ip;
  std::memcpy(ip.data(), &at, ip.capacity());
  if (ip.port() == 0) return {};
  const std::string address = ip.address().to_string();
  return (at.ss_family == AF_INET ? address : "[" + address + "]") + ":" + std::to_string(ip.port());
}

/// Returns what `socket_wait::peer` is. The descriptor may be another socket by now.
std::string peer_of(const descriptor_wait& w) {
  sockaddr_storage at{};
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (w.peer.sin6_family != AF_UNSPEC) {
    std::memcpy(&at, &w.peer, sizeof w.peer);
    return text_of(at, sizeof w.peer);
  }
  const auto ask = [&](auto call) {
    socklen_t size = sizeof at;
    return call(w.descriptor, address, &size) == 0 ? text_of(at, size) : std::string();
  };
  if (std::string peer = ask(::getpeername); !peer.empty()) return peer;
  const std::string local = ask(::getsockname);
  return local.empty() ? local : "local " + local;
}

std::int64_t now_ns() noexcept { return corewise::detail::monotonic::now().time_since_epoch().count(); }

[[noreturn]] void fail(const char* call) {
  throw system_error(error_code(errno, asio::error::get_system_category()), call);
}

/// Makes the descriptor of the alarm, and tries whether it can be set and waited for: Asio takes a refusal of epoll_ctl
/// (EPERM) for a file of a sort that needs no waiting, and no sleeper would be woken.
descriptor make_alarm() {
  descriptor made(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (made.get() < 0) fail("timerfd_create");
  const descriptor tried(::epoll_create1(EPOLL_CLOEXEC));
  if (tried.get() < 0) fail("epoll_create1");
  epoll_event nothing{};
  if (::epoll_ctl(tried.get(), EPOLL_CTL_ADD, made.get(), &nothing) != 0) fail("epoll_ctl");
  const itimerspec never{};
  if (::timerfd_settime(made.get(), 0, &never, nullptr) != 0) fail("timerfd_settime");
  return made;
}

/// Resumes a coroutine that no engine runs. Where the task is dropped, that is done as well.
class outside_resumption {
 public:
  explicit outside_resumption(corewise::detail::resumption& coroutine) noexcept : coroutine_(&coroutine) {}
  outside_resumption(outside_resumption&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  outside_resumption& operator=(outside_resumption&&) = delete;
  ~outside_resumption() { (*this)(); }
  void operator()() noexcept {
    if (coroutine_ != nullptr) std::exchange(coroutine_, nullptr)->wake();
  }

 private:
  corewise::detail::resumption* coroutine_;
};

} // namespace

constinit thread_local group_context* group_context::polled_ = nullptr;

/// While it lives, the calling thread looks into the context. It runs no task meanwhile, and may be about to sleep: so it
/// has no seat, and what is woken here by other ways than the list goes through an inbox, of which the sleeper hears.
class group_context::looking {
 public:
  looking(group_context& at, ready_tasks& found) noexcept
      : at_(at),
        seat_(std::exchange(corewise::detail::this_execution.seat, nullptr)) {
    at.found_ = &found;
    polled_ = &at;
  }
  looking(const looking&) = delete;
  looking& operator=(const looking&) = delete;
  ~looking() {
    polled_ = nullptr;
    at_.found_ = nullptr;
    corewise::detail::this_execution.seat = seat_;
  }

 private:
  group_context& at_;
  corewise::detail::worker* const seat_;
};

/// Gives out the context's own memory, once at a time.
template <class T> struct group_context::interrupt_allocator {
  using value_type = T;

  explicit interrupt_allocator(group_context& c) noexcept : context(&c) {}
  template <class U>
  interrupt_allocator(const interrupt_allocator<U>& other) noexcept : context(other.context) {}

  T* allocate(std::size_t n) const noexcept {
    if (n * sizeof(T) > sizeof context->interrupt_memory_) std::abort(); // Asio's operation has grown
    return reinterpret_cast<T*>(context->interrupt_memory_);
  }
  void deallocate(T* /*at*/, std::size_t /*n*/) const noexcept {}
  friend bool operator==(const interrupt_allocator&, const interrupt_allocator&) noexcept = default;

  group_context* context;
};

group_context::group_context(runtime& engine, group_id g)
    : engine_(engine),
      group_(g),
      work_(get_executor()),
      alarm_(*this) {
  descriptor made = make_alarm();
  alarm_.assign(made.get()); // takes it over, or throws
  made.release();
  await_alarm();
  for (spare_block& block : spare_blocks_) give_spare(&block);
}

/// The remains of operations go while their lists are still there.
group_context::~group_context() { shutdown(); }

std::vector<socket_wait> group_context::waits(std::size_t most) const {
  std::vector<descriptor_wait> found;
  found.reserve(most * operations_.size());
  for (const part& p : operations_)
    p.waits.for_first(most, [&](const descriptor_wait& w) { found.push_back(w); });
  std::ranges::sort(found, {}, &descriptor_wait::since_ns);
  if (found.size() > most) found.resize(most);
  const std::int64_t now = coarse_now_ns(); // later than all of them
  std::vector<socket_wait> out;
  for (const descriptor_wait& w : found)
    out.push_back({group_, w.kind, w.descriptor, peer_of(w), std::chrono::nanoseconds{now - w.since_ns}});
  return out;
}

// --- tasks

void group_context::resume(corewise::detail::resumption& coroutine) noexcept {
  if (polled_ == nullptr || (coroutine.root != nullptr && coroutine.root->engine != &polled_->engine_))
    coroutine.wake();
  else if (coroutine.root != nullptr)
    polled_->found_->resume(coroutine);
  else // no code of users runs in a look
    polled_->found_->begin(polled_->make_completion(outside_resumption(coroutine)));
}

void group_context::go_on(task_header* t, task_class c, const char* name) noexcept {
  if (name != nullptr) t = driving::named(engine_, t, name);
  t->run_as = c;
  if (polled_ == this)
    found_->begin(t);
  else
    driving::go_on(engine_, t, group_);
}

/// A shutdown destroys coroutines of Asio's, which then post what is left of them, in destructors: so it throws nothing.
void group_context::submit(task_header* t, task_class c, const char* name) {
  if (name != nullptr) t = driving::named(engine_, t, name);
  if (driving::submit(engine_, t, {.group = group_, .run_as = c}) == submit_result::full)
    throw system_error(asio::error::no_buffer_space, "the engine is full");
}

group_context::spare_block* group_context::take_spare() noexcept {
  const std::scoped_lock lock(spares_mutex_);
  spare_block* const block = spares_;
  if (block != nullptr) spares_ = block->next;
  return block;
}

void group_context::give_spare(spare_block* block) noexcept {
  const std::scoped_lock lock(spares_mutex_);
  block->next = std::exchange(spares_, block);
}

void group_context::wait_for_memory() noexcept { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }

// --- the driver

void group_context::count_look(std::size_t events) noexcept {
  corewise::detail::add_own(polls_, 1);
  corewise::detail::add_own(events_, events);
}

driver_counts group_context::count() const noexcept {
  const auto read = [](const atomic<std::uint64_t>& number) {
    return number.load(std::memory_order_relaxed);
  };
  return {.operations = operations(),
          .polls = read(polls_),
          .events = read(events_),
          .open = read(connections_.open),
          .accepted = read(connections_.accepted),
          .refused = read(connections_.refused)};
}

/// Returns how many events were handled, at most one. Where there is no memory for a handler it is gone, which its operation
/// sees; its event counts.
std::size_t group_context::look_once(bool sleeps) noexcept {
  try {
    return sleeps ? run_one() : poll_one();
  } catch (const std::bad_alloc&) {
    driving::warn_once(engine_, log_code::task_failed, "no memory for the handler of an event", {});
    return 1;
  }
}

/// Asio does not say whether more is ready, and asks the kernel where nothing is. So after a look that found one
/// event the next ones take one at a time.
std::size_t group_context::poll(std::size_t most, ready_tasks& found) noexcept {
  const looking here(*this, found);
  if (single_looks_ != 0) {
    --single_looks_;
    const std::size_t event = look_once(/*sleeps=*/false);
    count_look(event);
    return event;
  }
  std::size_t events = 0;
  while (events < most && look_once(/*sleeps=*/false) != 0) ++events;
  if (events == 1) single_looks_ = single_looks;
  count_look(events);
  return events;
}

void group_context::sleep(std::optional<std::chrono::nanoseconds> time, ready_tasks& found) noexcept {
  const looking here(*this, found);
  if (time) arm(*time);
  if (refused_.load(std::memory_order_relaxed)) [[unlikely]]
    return nap(time);
  count_look(look_once(/*sleeps=*/true));
}

/// Sleeps where the kernel refuses what a sleep in the context needs.
void group_context::nap(std::optional<std::chrono::nanoseconds> time) noexcept {
  if (!std::exchange(said_, true))
    driving::warn_once(
        engine_, log_code::machine,
        "the kernel refuses a call by which workers wait for sockets (epoll_ctl, epoll_wait or "
        "timerfd_settime): sockets fail or wait, and workers that have nothing to do look each millisecond",
        {});
  std::this_thread::sleep_for(std::min(time.value_or(longest_nap), longest_nap));
  count_look(look_once(/*sleeps=*/false));
}

/// Asio does not tell when the kernel refuses a call to a running process (seccomp). It would wake no sleeper, or ask for events
/// again and again.
void group_context::look_after() noexcept {
  if (refused_.load(std::memory_order_relaxed)) return;
  const auto refused = [](int answer) { return answer != 0 && errno != EBADF; };
  epoll_event event{};
  const itimerspec never{};
  if (refused(::epoll_ctl(-1, EPOLL_CTL_MOD, -1, &event)) || refused(::epoll_wait(-1, &event, 1, 0)) ||
      refused(::timerfd_settime(-1, 0, &never, nullptr))) {
    refuse();
    interrupt();
  }
}

/// Makes workers only nap from now on, and ends a sleep that is under way, where the alarm can.
void group_context::refuse() noexcept {
  refused_.store(true, std::memory_order_relaxed);
  const itimerspec at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  ::timerfd_settime(alarm_.native_handle(), 0, &at_once, nullptr);
}

/// The holder, or the next one, runs posted functions: so this ends a sleep that is under way, and one that is about to
/// begin. One interruption that is on its way does for all. Asio ends a sleep by epoll_ctl, and does not look whether the
/// kernel refuses that: then the alarm ends it, and from now on workers do not sleep here for long.
void group_context::interrupt() noexcept {
  if (interrupting_.exchange(true, std::memory_order_seq_cst)) return; // pairs: interrupt
  errno = 0;
  asio::post(get_executor(), asio::bind_allocator(interrupt_allocator<void>(*this), [this]() noexcept {
               interrupting_.store(false, std::memory_order_seq_cst); // pairs: interrupt
             }));
  if (errno != 0) [[unlikely]]
    refuse(); // a sleep that begins now finds what was posted
}

void group_context::end() noexcept {
  ended_.store(true, std::memory_order_relaxed);
  shutdown();
}

/// Sets the alarm, unless it rings at about that time anyway.
void group_context::arm(std::chrono::nanoseconds time) noexcept {
  const std::int64_t at = now_ns() + time.count();
  if (std::abs(at - armed_ns_) <= alarm_slack_ns) return;
  armed_ns_ = at;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<std::time_t>(at / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
  if (::timerfd_settime(alarm_.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr) != 0) [[unlikely]]
    refused_.store(true, std::memory_order_relaxed);
}

void group_context::await_alarm() {
  alarm_.async_wait(asio::posix::stream_descriptor::wait_read,
                    asio::bind_executor(get_executor(), [this](const error_code& why) {
                      if (why) return;
                      std::uint64_t rings = 0;
                      static_cast<void>(::read(alarm_.native_handle(), &rings, sizeof rings) == sizeof rings);
                      armed_ns_ = 0;
                      await_alarm();
                    }));
}

} // namespace corewise::io::detail
