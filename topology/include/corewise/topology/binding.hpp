#pragma once

#include <corewise/topology/cpu_set.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

namespace corewise {

/// What a binding call answers: nothing when it was done, else why not, for people. Refusals (containers
/// often refuse) are never errors: the caller warns once and goes on.
using refusal = std::optional<std::string>;

/// Lets the calling thread run on `cpus` only. Cost: one system call.
[[nodiscard]] refusal pin_this_thread(const cpu_set& cpus);
/// As `pin_this_thread`, for another thread that has not been joined.
[[nodiscard]] refusal pin_thread(std::thread::native_handle_type thread, const cpu_set& cpus);
/// The CPUs that the calling thread may run on.
cpu_set this_thread_affinity();

namespace detail {
/// As below, or -1. GCC 12 returns an `optional` by way of memory, and reads it before it is all there.
[[gnu::hot]] int this_cpu_or_none() noexcept;
} // namespace detail

/// The CPU that the calling thread is on now; it may have moved when this returns. A few ns.
inline std::optional<std::uint32_t> this_cpu() noexcept {
  const int cpu = detail::this_cpu_or_none();
  if (cpu < 0) return std::nullopt;
  return static_cast<std::uint32_t>(cpu);
}

/// Makes the calling thread's future page faults prefer node `os_index`. Cost: one system call.
[[nodiscard]] refusal prefer_node(std::uint32_t os_index);
/// Whether memory can be placed on nodes here at all.
bool node_memory_available() noexcept;
/// The node that holds the page at `address`, which must have been touched; nothing when the kernel won't
/// say.
std::optional<std::uint32_t> node_of_page(const void* address);

/// Page-aligned memory whose pages lie on one node (preferred, not forced).
class node_memory {
 public:
  node_memory() = default;
  /// Maps `bytes` (rounded up to pages), zeroed, on node `os_index`, or anywhere when there is none.
  /// A refused binding is written to `why`. Throws `std::bad_alloc`.
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
