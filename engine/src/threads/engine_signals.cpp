#include "threads/engine_signals.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace corewise::detail {

namespace {

constinit thread_local const engine_signals* of_parent = nullptr;

[[maybe_unused]] const bool registered = [] {
  const auto in_child = [] {
    if (const engine_signals* const signals = std::exchange(of_parent, nullptr)) signals->give_back();
  };
  return ::pthread_atfork(nullptr, nullptr, in_child) == 0;
}();

} // namespace

engine_signals::engine_signals(std::optional<int> asked, bool ties) noexcept {
  if (ties) cpu_bytes_ = ::syscall(SYS_sched_getaffinity, 0, makers_cpus_.size(), makers_cpus_.data());
  ::pthread_sigmask(SIG_SETMASK, nullptr, &makers_);
  ::sigfillset(&blocked_);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF, SIGVTALRM,
                           SIGXCPU, SIGURG, SIGPIPE, asked.value_or(SIGSEGV)})
    ::sigdelset(&blocked_, number);
}

engine_signals::blocked::blocked(const engine_signals& signals) noexcept {
  ::pthread_sigmask(SIG_SETMASK, &signals.blocked_, &before_);
}

engine_signals::blocked::~blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void engine_signals::note_thread() const noexcept { of_parent = this; }

void engine_signals::give_back() const noexcept {
  ::pthread_sigmask(SIG_SETMASK, &makers_, nullptr);
  if (cpu_bytes_ > 0) ::syscall(SYS_sched_setaffinity, 0, cpu_bytes_, makers_cpus_.data());
}

} // namespace corewise::detail
