#include "base/process_fork.hpp"

#include <corewise/engine/detail/execution.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace corewise::detail {

constinit process_state this_process{};

namespace {

void wipe() noexcept { std::memset(static_cast<void*>(&this_process.page), 0, sizeof this_process.page); }

/// In the child no thread is a worker, and there is only this one.
void begin_child() noexcept {
  if (this_process.last_number.load(std::memory_order_relaxed) != 0) wipe();
  this_process.owner.store(::getpid(), std::memory_order_relaxed);
  this_execution = {};
}

const bool kernel_wipes = [] {
  ::pthread_atfork(nullptr, nullptr, &begin_child);
  this_process.owner.store(
      ::getpid(), std::memory_order_relaxed); // else the first two threads could wipe it under each other
  return ::madvise(&this_process.page, sizeof this_process.page, MADV_WIPEONFORK) == 0;
}();

/// | tag  | release site           | acquire site   | publishes          | weakened                    |
/// |------|------------------------|----------------|--------------------|-----------------------------|
/// | free | ~wiped_byte: fetch_and | take_byte: CAS | that the byte is 0 | its next owner's is cleared |
atomic<std::uint8_t>& take_byte() {
  auto& used = this_process.used;
  for (std::size_t word = 0; word < used.size(); ++word) {
    std::uint64_t seen = used[word].load(std::memory_order_relaxed);
    while (~seen != 0) {
      const std::uint64_t bit = ~seen & (seen + 1);                                     // the lowest free one
      if (used[word].compare_exchange_weak(seen, seen | bit, std::memory_order_acquire, // pairs: free
                                           std::memory_order_relaxed))
        return this_process.page.bytes[64 * word + static_cast<std::size_t>(std::countr_zero(bit))];
    }
  }
  throw std::system_error(EAGAIN, std::generic_category(), "the process has thousands of engines");
}

} // namespace

std::uint32_t process_number() noexcept {
  if (!kernel_wipes)
    if (const pid_t me = ::getpid(); this_process.owner.exchange(me, std::memory_order_relaxed) != me) wipe();
  std::uint32_t number = this_process.page.number.load(std::memory_order_relaxed);
  if (number != 0) return number;
  const std::uint32_t next = this_process.last_number.load(std::memory_order_relaxed) + 1;
  this_process.last_number.store(
      next, std::memory_order_relaxed); // before the number is used: a child begins behind it
  return this_process.page.number.compare_exchange_strong(number, next, std::memory_order_relaxed) ? next
                                                                                                   : number;
}

wiped_byte::wiped_byte(std::uint8_t first) : byte_(take_byte()) {
  static_cast<void>(process_number()); // so that a handler of `fork` wipes the page
  byte_.store(first, std::memory_order_relaxed);
}

wiped_byte::~wiped_byte() {
  byte_.store(0, std::memory_order_relaxed);
  const auto index = static_cast<std::size_t>(&byte_ - this_process.page.bytes.data());
  const std::uint64_t others = ~(std::uint64_t{1} << index % 64);
  this_process.used[index / 64].fetch_and(others, std::memory_order_release); // pairs: free
}

} // namespace corewise::detail
