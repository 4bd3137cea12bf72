#pragma once

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

// The memory of this process, as the kernel and the C library report it.

namespace corewise::bench {

/// The resident bytes of this process, counted by a walk through its pages: the counters that are quicker to
/// read are not exact.
inline double resident_bytes() {
  std::ifstream lines("/proc/self/smaps_rollup");
  for (std::string word; lines >> word;)
    if (double kib = 0; word == "Rss:" && lines >> kib) return kib * 1024;
  throw std::runtime_error("/proc/self/smaps_rollup tells no Rss");
}

/// The bytes that malloc has given out. Returns 0 with another malloc than the C library's, which does not
/// say.
inline double heap_bytes() {
  const char* const other = std::getenv("LD_PRELOAD");
  if (other != nullptr && *other != 0) return 0;
  const struct mallinfo2 of = ::mallinfo2();
  return static_cast<double>(of.uordblks + of.hblkhd);
}

/// A thread's stack; its thread-local variables lie at the upper end.
struct stack_range {
  void* begin = nullptr;
  std::size_t bytes = 0;

  static stack_range of_this_thread() {
    stack_range r;
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0)
      throw std::runtime_error("a thread's stack is not known");
    ::pthread_attr_getstack(&attributes, &r.begin, &r.bytes);
    ::pthread_attr_destroy(&attributes);
    return r;
  }

  double resident() const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(bytes / page);
    if (::mincore(begin, pages.size() * page, pages.data()) != 0)
      throw std::runtime_error("which pages of a stack are resident is not known");
    return static_cast<double>(page) *
           static_cast<double>(std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
  }
};

} // namespace corewise::bench
