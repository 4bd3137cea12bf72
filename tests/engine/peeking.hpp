#pragma once

#include <doctest/doctest.h>
#include <sys/uio.h>
#include <unistd.h>

/// Dumps copy names of running tasks, which may be gone meanwhile, by a system call. Returns whether the
/// kernel refuses that, as QEMU's user emulation does, and says then that the test case is skipped.
inline bool skipped_without_peeking() {
  int from = 1;
  int to = 0;
  const iovec here{&to, sizeof to};
  const iovec there{&from, sizeof from};
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == sizeof to) return false;
  MESSAGE("skipped: the kernel copies no memory of the own process");
  return true;
}
