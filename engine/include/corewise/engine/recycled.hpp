#pragma once

#include <corewise/engine/task_blocks.hpp>

#include <new>
#include <utility>

namespace corewise::detail {

/// Objects of type T that live in recycled blocks (task_blocks.hpp), or, if T is too large for one or asks for more
/// alignment, are allocated plainly. Any thread. Cost: that of the block.
template <class T> struct recycled {
  /// Throws what the constructor throws, `std::bad_alloc`.
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

  /// `object` was made here.
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

} // namespace corewise::detail
