#include "threads/stack_signal.hpp"

#include "base/clock.hpp"
#include "base/demangled.hpp"

#include <corewise/engine/detail/lock.hpp>

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <system_error>

namespace corewise::detail {

namespace {

constexpr std::size_t most_frames = 64;
constexpr std::size_t frames_of_handler = 2; // the handler itself, and the kernel's way into it

/// The buffer into which the handler writes a stack. The process has one, for ever: a signal may arrive late.
struct stack_answer {
  enum class state : int { ready, asked, writing, written };
  std::atomic<state> now{state::ready};
  std::atomic<pid_t> thread{0}; // relaxed: the change of state checks it again
  std::array<void*, most_frames> frames{};
  int count = 0;
};
static_assert(std::atomic<stack_answer::state>::is_always_lock_free &&
              std::atomic<pid_t>::is_always_lock_free);

stack_answer answer;

struct installation {
  struct sigaction before{};
  int users = 0;
  bool stays = false; // foreign code has put a handler above ours, and may call ours
};

mutex asking;     // for `answer`; the child of a process fork begins with another one
mutex installing; // for `installations`; `fork` waits for it
std::array<installation, 65> installations;

void begin_child() noexcept {
  installing.unlock();
  ::new (&asking) mutex; // a thread that is not here may hold it, for as long as a stack takes
  answer.now.store(stack_answer::state::ready, std::memory_order_relaxed);
}

[[maybe_unused]] const bool forks_wait =
    ::pthread_atfork([] { installing.lock(); }, [] { installing.unlock(); }, &begin_child) == 0;

bool is_ours(const siginfo_t& info) noexcept {
  return info.si_code == SI_QUEUE && info.si_pid == ::getpid() && info.si_value.sival_ptr == &answer;
}

void write_stack() noexcept {
  if (answer.thread.load(std::memory_order_relaxed) != ::gettid()) return;
  auto expected = stack_answer::state::asked;
  if (!answer.now.compare_exchange_strong(expected, stack_answer::state::writing,
                                          std::memory_order_acquire)) // pairs: asked
    return;
  answer.count = ::backtrace(answer.frames.data(), most_frames);
  answer.now.store(stack_answer::state::written, std::memory_order_release); // pairs: stack
}

/// Does with the signal as the process would have done without our handler.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction& before = installations[static_cast<std::size_t>(number)].before;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  if (before.sa_handler == SIG_IGN || (before.sa_handler == SIG_DFL && number == SIGURG)) return;
  if (before.sa_handler != SIG_DFL) return before.sa_handler(number);
  ::sigaction(number, &before, nullptr); // the signal ends the process, as soon as we return
  ::raise(number);
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (is_ours(*info))
    write_stack();
  else
    pass_on(number, info, context);
  errno = error;
}

/// Returns what the process does with the signal now.
struct sigaction action_of(int number) noexcept {
  struct sigaction now{};
  ::sigaction(number, nullptr, &now);
  return now;
}

/// Returns whether other code has taken all handlers away, ours too.
bool is_reset(const struct sigaction& now) noexcept {
  return now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN;
}

bool send(pid_t thread, int number) noexcept {
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &answer;
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, number, &info) == 0;
}

/// Waits until the asked thread has written its stack. Returns false if the time is over; then the thread
/// cannot write any more.
bool wait_for_answer() {
  using namespace std::chrono_literals;
  const auto until = monotonic::now() + 200ms;
  while (answer.now.load(std::memory_order_acquire) != stack_answer::state::written) { // pairs: stack
    auto expected = stack_answer::state::asked;
    if (monotonic::now() >= until &&
        answer.now.compare_exchange_strong(expected, stack_answer::state::ready, std::memory_order_relaxed))
      return false;
    sleep_for(100us);
  }
  return true;
}

std::string frame_text(std::size_t index, void* address) {
  Dl_info found{};
  if (::dladdr(address, &found) == 0 || found.dli_fname == nullptr)
    return fmt::format("\n  #{} {}", index, address);
  const auto offset = [&](const void* from) {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(from);
  };
  const std::string_view path = found.dli_fname;
  const std::string where =
      fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), offset(found.dli_fbase));
  if (found.dli_sname == nullptr) return fmt::format("\n  #{} {}", index, where);
  return fmt::format("\n  #{} {}+{:#x} ({})", index, demangled(found.dli_sname), offset(found.dli_saddr),
                     where);
}

} // namespace

stack_signal::stack_signal(int number) : number_(number) {
  void* first = nullptr;
  ::backtrace(&first, 1); // loads the library that it needs; a handler must not load one
  const std::scoped_lock lock(installing);
  installation& here = installations.at(static_cast<std::size_t>(number));
  if (here.users++ != 0 || (here.stays && !is_reset(action_of(number)))) return;
  here.stays = false;
  struct sigaction ours{};
  ours.sa_sigaction = &on_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(number, nullptr, &here.before) == 0 && ::sigaction(number, &ours, nullptr) == 0) return;
  --here.users;
  throw std::system_error(errno, std::generic_category(), "debug.stack_signal");
}

stack_signal::~stack_signal() {
  const std::scoped_lock lock(installing);
  installation& here = installations[static_cast<std::size_t>(number_)];
  if (--here.users != 0) return;
  const struct sigaction now = action_of(number_);
  const bool ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_signal;
  here.stays = !ours && !is_reset(now);
  if (ours) ::sigaction(number_, &here.before, nullptr);
}

std::string stack_signal::stack_of(pid_t thread) const {
  if (is_reset(action_of(number_))) return {}; // the signal would end the process
  const std::scoped_lock lock(asking);
  answer.thread.store(thread, std::memory_order_relaxed);
  answer.now.store(stack_answer::state::asked, std::memory_order_release); // pairs: asked
  if (!send(thread, number_)) {
    answer.now.store(stack_answer::state::ready, std::memory_order_relaxed);
    return {};
  }
  if (!wait_for_answer()) return {};
  std::string text;
  const std::span frames(answer.frames.data(), static_cast<std::size_t>(answer.count));
  for (std::size_t i = frames_of_handler; i < frames.size(); ++i)
    text += frame_text(i - frames_of_handler, frames[i]);
  answer.now.store(stack_answer::state::ready, std::memory_order_relaxed);
  return text;
}

} // namespace corewise::detail
