#pragma once

#include <corewise/engine/parallel_for.hpp>
#include <corewise/engine/task.hpp>
#include <corewise/topology/binding.hpp>

#include <limits>
#include <new>

namespace corewise {

/// An array whose pages lie on the NUMA nodes of the workers that will go through it: a parallel loop has
/// written its elements, and the system puts a page where it is touched first. `make_first_touch` makes it.
/// Parallel loops over it send each part to the group that wrote that part, as long as the group has workers.
/// Move-only. Its elements are not destroyed.
template <class T>
  requires std::is_trivially_destructible_v<T>
class first_touch_array {
 public:
  first_touch_array() noexcept = default;
  first_touch_array(first_touch_array&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        shares_(std::move(other.shares_)) {}
  first_touch_array& operator=(first_touch_array&& other) noexcept {
    first_touch_array taken(std::move(other));
    std::swap(memory_, taken.memory_);
    std::swap(size_, taken.size_);
    std::swap(shares_, taken.shares_);
    return *this;
  }
  ~first_touch_array() = default;

  T* data() noexcept { return static_cast<T*>(memory_.data()); }
  const T* data() const noexcept { return static_cast<const T*>(memory_.data()); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }

  /// For parallel loops.
  const detail::loop_share_list& loop_shares() const noexcept { return shares_; }

 private:
  template <class U, class F> friend task<first_touch_array<U>> make_first_touch(std::size_t size, F make);

  explicit first_touch_array(std::size_t size) : size_(size), shares_(detail::loop_shares_here(size)) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    memory_ = node_memory(size * sizeof(T), {});
  }

  node_memory memory_; // untouched
  std::size_t size_ = 0;
  detail::loop_share_list shares_;
};

/// `auto a = co_await make_first_touch<T>(n, f)`: makes an array of n elements, the i-th from `f(i)`. Several
/// workers call `f` at the same time. Throws what `f` throws, `std::bad_alloc`, and outside of an engine's
/// tasks `std::logic_error`. Cost: that of `parallel_for`, and a fault for each page.
template <class T, class F> task<first_touch_array<T>> make_first_touch(std::size_t size, F make) {
  first_touch_array<T> made(size);
  const detail::positions<std::size_t> all{0, size, &made.loop_shares()};
  const auto write = [&make, first = made.data()](std::size_t i) { ::new (first + i) T(make(i)); };
  co_await detail::for_loop<std::size_t, detail::one_by_one, decltype(write), false>(all, write, {});
  co_return std::move(made);
}

} // namespace corewise
