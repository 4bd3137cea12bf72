#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace corewise {

/// A vector of at most `Most` elements, which lie in it: it allocates nothing. Move-only; moving it leaves it
/// empty. Several threads may read it at the same time, as a `std::vector`.
template <class T, std::size_t Most> class bounded_vector {
 public:
  static_assert(Most != 0);
  using value_type = T;

  bounded_vector() noexcept {}
  // Both begin empty, so that the elements made so far go when an exception passes.
  bounded_vector(bounded_vector&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : bounded_vector() {
    for (; size_ != other.size_; ++size_) std::construct_at(end(), std::move(other[size_]));
    other.clear();
  }
  /// Makes `count` elements, each from `make(i)`. Throws `std::length_error` if they are too many, and what
  /// making one throws.
  template <class F> bounded_vector(std::size_t count, F make) : bounded_vector() {
    if (count > Most) refuse();
    for (; size_ != count; ++size_) std::construct_at(end(), make(size_));
  }
  bounded_vector& operator=(const bounded_vector&) = delete;
  ~bounded_vector() { std::destroy(begin(), end()); }

  /// Throws `std::length_error` if it is full, and what moving an element throws.
  void push_back(T&& element) {
    if (size_ == Most) [[unlikely]]
      refuse();
    std::construct_at(end(), std::move(element));
    ++size_;
  }

  void clear() noexcept {
    std::destroy(begin(), end());
    size_ = 0;
  }

  static constexpr std::size_t capacity() noexcept { return Most; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return elements_; }
  const T* data() const noexcept { return elements_; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept {
    assert(i < size_);
    return elements_[i];
  }
  const T& operator[](std::size_t i) const noexcept {
    assert(i < size_);
    return elements_[i];
  }
  T& front() noexcept { return (*this)[0]; }
  const T& front() const noexcept { return (*this)[0]; }

 private:
  [[noreturn]] static void refuse() { throw std::length_error("more elements than its type has room for"); }

  union {
    T elements_[Most]; // the first `size_` of them live
  };
  std::size_t size_ = 0;
};

} // namespace corewise
