#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

namespace corewise {

/// The answer of a binding call: nothing when the call did it, else why not, in words for people. A refusal
/// (containers often refuse) is never an error: the caller warns once and goes on.
using refusal = std::optional<std::string>;

/// Lets the calling thread run on `cpus` only. Cost: one system call.
[[nodiscard]] refusal pin_this_thread(const cpu_set& cpus);
/// Lets another thread run on `cpus` only. The thread must not have been joined. Cost: one system call.
[[nodiscard]] refusal pin_thread(std::thread::native_handle_type thread, const cpu_set& cpus);
/// The CPUs that the calling thread may run on.
cpu_set this_thread_affinity();

namespace detail {
/// Does what `this_cpu` does, but returns -1 for nothing. GCC 12 returns an `optional` by way of memory, and
/// reads it before all of it is there.
[[gnu::hot]] int this_cpu_or_none() noexcept;
} // namespace detail

/// The CPU that the calling thread is on now; the thread may have moved when this returns. A few ns.
inline std::optional<std::uint32_t> this_cpu() noexcept {
  const int cpu = detail::this_cpu_or_none();
  if (cpu < 0) return std::nullopt;
  return static_cast<std::uint32_t>(cpu);
}

/// Makes the calling thread's future page faults prefer node `os_index`. Cost: one system call.
[[nodiscard]] refusal prefer_node(std::uint32_t os_index);
/// Returns whether memory can be put on nodes here at all.
bool node_memory_available() noexcept;
/// The node that holds the page at `address`, which must have been touched. Returns nothing when the kernel
/// does not say.
std::optional<std::uint32_t> node_of_page(const void* address);

/// Page-aligned memory whose pages lie on one node (preferred, not forced).
class node_memory {
 public:
  node_memory() = default;
  /// Maps `bytes` (rounded up to pages), zeroed, on node `os_index`, or anywhere when there is none.
  /// Writes a refused binding to `why`. Throws `std::bad_alloc`.
  node_memory(std::size_t bytes, std::optional<std::uint32_t> os_index, refusal* why = nullptr);
  node_memory(node_memory&& other) noexcept;
  node_memory& operator=(node_memory&& other) noexcept;
  ~node_memory();

  void* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace corewise
