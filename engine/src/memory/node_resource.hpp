#pragma once

#include "base/process_fork.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/topology/binding.hpp>

#include <memory_resource>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace corewise::detail {

/// Hands out whole pages on one memory node. Use by one thread at a time.
class node_pages final : public std::pmr::memory_resource {
 public:
  /// `node` is the operating system's number; nothing: any node.
  explicit node_pages(std::optional<std::uint32_t> node) noexcept : node_(node) {}
  std::optional<std::uint32_t>& node() noexcept { return node_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::optional<std::uint32_t> node_;
  std::unordered_map<void*, node_memory> mapped_;
};

/// Recycles memory of one node, of any size. Call from any thread. Keeps freed memory for later requests.
/// Large pieces, and at its end all the rest, go back to the operating system. In the child of a process fork
/// it gives plain memory and takes none back: the lock may be held for ever.
class node_resource final : public std::pmr::memory_resource {
 public:
  explicit node_resource(std::optional<std::uint32_t> node) : pages_(node) {}

  /// Takes new memory from that node from now on. Its memory, in use or not, stays where it is. Cost: a lock.
  void move_to(std::optional<std::uint32_t> node) noexcept {
    const std::scoped_lock lock(mutex_);
    pages_.node() = node;
  }
  /// Returns the node from which new memory comes; nothing: from any. Cost: a lock.
  std::optional<std::uint32_t> node() noexcept {
    const std::scoped_lock lock(mutex_);
    return pages_.node();
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  const std::uint32_t process_ = process_number(); // in which it was made
  mutex mutex_;
  node_pages pages_;
  std::pmr::unsynchronized_pool_resource pools_{&pages_};
};

} // namespace corewise::detail
