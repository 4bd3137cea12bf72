#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace corewise::admin {

/// Memory for the answers of a daemon that has none left. It lies in blocks that `operator new` takes from the calling
/// thread's own heap, so that this thread finds it there again. Call from one thread.
class memory_reserve {
 public:
  /// Gives it up, for what is allocated next.
  void release() noexcept {
    for (block& b : blocks_) b.reset();
  }
  /// Takes it back, as far as there is memory. Cost: a page of real memory for each block.
  void fill() noexcept {
    for (block& b : blocks_)
      if (!b) b.reset(new (std::nothrow) std::byte[block_bytes]);
  }

 private:
  static constexpr std::size_t block_bytes =
      120 * 1024; // larger ones come straight from the system, and go back to it
  using block = std::unique_ptr<std::byte[]>;
  std::array<block, 16> blocks_;
};

} // namespace corewise::admin
