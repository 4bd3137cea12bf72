#pragma once

#include "child_process.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <vector>

// Processes to which the kernel refuses a system call, as old kernels and those of sandboxes do.

namespace corewise::tests {

/// Has the kernel refuse that call with EPERM to all threads of this process from now on; with `first`, only where that is
/// the lower half of its first argument. Call from any thread. Returns false if this kernel filters no calls.
inline bool refuse_call(long number, std::optional<std::uint32_t> first = {}) {
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  if (first) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args))); // little-endian
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *first, 1, 0));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1)); // EPERM
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/// What `wrong` returns where nothing can be told.
inline constexpr int cannot_tell = 77;

/// Runs `wrong`, which may have calls refused, in a process of its own. Returns its exit status; 0 where it cannot tell.
template <class F> int wrong_in_child(const F& wrong) {
  const int answer = exit_status(child_that([&] {
    ::alarm(60);
    std::_Exit(wrong());
  }));
  if (answer != cannot_tell) return answer;
  MESSAGE("skipped: this kernel filters no system calls, or lacks what is to be refused");
  return 0;
}

/// Runs `wrong` in a process to which the kernel refuses that call. Returns its exit status; 0 where calls are not
/// filtered, or nothing can be told.
template <class F> int wrong_without(long number, std::optional<std::uint32_t> first, const F& wrong) {
  return wrong_in_child([&] { return refuse_call(number, first) ? wrong() : cannot_tell; });
}

} // namespace corewise::tests
