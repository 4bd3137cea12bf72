#pragma once

#include <corewise/topology/binding.hpp>

#include <memory_resource>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace corewise::detail {

/// Whole pages on one memory node. One thread at a time.
class node_pages final : public std::pmr::memory_resource {
 public:
  /// `node`: the operating system's number; nothing: anywhere.
  explicit node_pages(std::optional<std::uint32_t> node) noexcept : node_(node) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::optional<std::uint32_t> node_;
  std::unordered_map<void*, node_memory> mapped_;
};

/// Recycles memory of one node, of any size. Any thread. What is freed is kept for the next one; large pieces and the rest
/// go back when it ends.
class node_resource final : public std::pmr::memory_resource {
 public:
  explicit node_resource(std::optional<std::uint32_t> node) : pages_(node) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  std::mutex mutex_;
  node_pages pages_;
  std::pmr::unsynchronized_pool_resource pools_{&pages_};
};

} // namespace corewise::detail
