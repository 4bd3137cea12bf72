#pragma once

#include <corewise/engine/detail/task_blocks.hpp>

#include <new>
#include <utility>

namespace corewise::detail {

/// Makes objects of type T in recycled blocks (task_blocks.hpp). If T is too large for a block or asks for
/// more alignment, allocates it plainly. Call from any thread. Cost: that of the block.
template <class T> struct recycled {
  /// Makes an object. Throws what the constructor throws, `std::bad_alloc`.
  template <class... Args> static T* make(Args&&... args) {
    if constexpr (size_class() == block_classes) {
      return new T(std::forward<Args>(args)...);
    } else {
      void* memory = acquire_block(size_class());
      try {
        return ::new (memory) T(std::forward<Args>(args)...);
      } catch (...) {
        release_block(memory, size_class());
        throw;
      }
    }
  }

  /// Destroys `object`, which `make` made.
  static void destroy(T* object) noexcept {
    if constexpr (size_class() == block_classes) {
      delete object;
    } else {
      object->~T();
      release_block(object, size_class());
    }
  }

 private:
  static constexpr std::size_t size_class() noexcept {
    return alignof(T) > block_alignment ? block_classes : block_class(sizeof(T));
  }
};

/// An allocator for containers that takes recycled blocks for sizes for which a block has room.
template <class T> struct recycling_allocator {
  using value_type = T;

  recycling_allocator() noexcept = default;
  template <class U> recycling_allocator(const recycling_allocator<U>& /*other*/) noexcept {}

  T* allocate(std::size_t number) {
    const std::size_t bytes = number * sizeof(T);
    const std::size_t size_class = block_class(bytes);
    return static_cast<T*>(size_class == block_classes ? acquire_large(bytes) : acquire_block(size_class));
  }
  void deallocate(T* memory, std::size_t number) noexcept {
    const std::size_t bytes = number * sizeof(T);
    const std::size_t size_class = block_class(bytes);
    return size_class == block_classes ? release_large(memory, bytes) : release_block(memory, size_class);
  }
  friend bool operator==(const recycling_allocator&, const recycling_allocator&) noexcept { return true; }
};

} // namespace corewise::detail
