#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

// Data that belongs to one process, and not to its children.
//
// The kernel fills `this_process.page` with zeros in the child of a process fork (MADV_WIPEONFORK), and in
// the child of `_Fork` too, which calls no handlers. So a byte in there that is never 0 in its own process
// tells whether this is another one. Where the kernel does not do so, a handler of `fork` does, and functions
// that are called rarely compare the process id.

namespace corewise::detail {

#ifdef __x86_64__
inline constexpr std::size_t largest_page = 4096;
#else
inline constexpr std::size_t largest_page = 65536;
#endif

/// The page that the kernel wipes.
struct alignas(largest_page) process_page {
  atomic<std::uint32_t> number; ///< of this process; 0: not given yet. Relaxed: a number by itself
  std::array<atomic<std::uint8_t>, largest_page - sizeof(std::uint32_t)> bytes;
};

/// One object, so that modules which share a part of it share it all.
struct process_state {
  process_page page;
  atomic<std::uint32_t> last_number; ///< given here or in a parent
  atomic<pid_t> owner;               ///< of the page, where the kernel does not wipe it
  /// The bytes that are in use, here or in a parent: a child never uses a byte of its parent's.
  std::array<atomic<std::uint64_t>, std::tuple_size_v<decltype(process_page::bytes)> / 64> used;
};

extern process_state this_process;

/// Returns a number that differs from that of each process from which this one was forked. It is not 0. Call
/// from any thread. Cost: some loads.
std::uint32_t process_number() noexcept;

/// A byte that turns 0 in the child of a process fork, and never turns anything else there.
class wiped_byte {
 public:
  /// `first` is not 0. Throws `std::system_error` when thousands of others exist.
  explicit wiped_byte(std::uint8_t first);
  wiped_byte(const wiped_byte&) = delete;
  wiped_byte& operator=(const wiped_byte&) = delete;
  /// Call in the process that made it, or leave it alone.
  ~wiped_byte();

  atomic<std::uint8_t>& operator*() const noexcept { return byte_; }

 private:
  atomic<std::uint8_t>& byte_;
};

} // namespace corewise::detail
