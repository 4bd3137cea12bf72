#pragma once

#include "sanitized.hpp"

#include <sys/syscall.h>

#include <string>
#include <vector>

namespace corewise::tests {

/// A system call that an engine makes for speed, and does without.
struct call_for_speed {
  std::string name;
  long number;
  const char* warning; // of an engine that begins without it
};

inline std::vector<call_for_speed> calls_for_speed() {
  std::vector<call_for_speed> all{
      {"sched_setaffinity", SYS_sched_setaffinity, "workers are not pinned"},
      {"sched_getaffinity", SYS_sched_getaffinity, "refuses to tell the affinity mask"},
      {"mbind", SYS_mbind, ""},
      {"set_mempolicy", SYS_set_mempolicy, ""},
      {"get_mempolicy", SYS_get_mempolicy, ""},
      {"move_pages", SYS_move_pages, ""},
      {"madvise", SYS_madvise, ""},
      {"membarrier", SYS_membarrier, ""},
      {"getcpu", SYS_getcpu, ""},
      {"eventfd2", SYS_eventfd2, ""},
      {"epoll_create1", SYS_epoll_create1, ""}};
  // A sanitizer ends without it.
  if (sanitized)
    std::erase_if(all, [](const call_for_speed& c) { return c.number == SYS_sched_getaffinity; });
  return all;
}

} // namespace corewise::tests
