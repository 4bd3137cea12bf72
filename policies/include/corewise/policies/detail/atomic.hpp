#pragma once

#include <atomic>
#include <type_traits>
#include <utility>

// The words that threads share. In every build `atomic` is `std::atomic`, but in that of tests/faults, which defines
// COREWISE_FAULTS: there each access is a *step*, before which a test may delay the thread, or do something else on it. So
// each place where another thread can come between is one, and none has to be marked. The types of the two builds are in
// different inline namespaces, so that functions that take them do not link across.
//
// Words that a signal handler uses stay `std::atomic`: a step may take locks.

namespace corewise::detail {

#ifdef COREWISE_FAULTS

/// Stands before each access to a shared word, each fence, each sleep and each lock. The test defines it.
void step() noexcept;

inline namespace stepped {

template <class T> class atomic : private std::atomic<T> {
  using base = std::atomic<T>;
  static constexpr std::memory_order strongest =
      std::memory_order_seq_cst; // as std::atomic; pairs: its caller says

 public:
  using value_type = T;

  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : base(value) {} // NOLINT(google-explicit-constructor): as std::atomic

  T operator=(T value) noexcept { return store(value), value; } // NOLINT(misc-unconventional-assign-operator)
  operator T() const noexcept { return load(); }                // NOLINT(google-explicit-constructor)

  T load(std::memory_order order = strongest) const noexcept { return step(), base::load(order); }
  void store(T value, std::memory_order order = strongest) noexcept { step(), base::store(value, order); }
  T exchange(T value, std::memory_order order = strongest) noexcept {
    return step(), base::exchange(value, order);
  }
  template <class... Orders> bool compare_exchange_strong(T& expected, T value, Orders... orders) noexcept {
    return step(), base::compare_exchange_strong(expected, value, orders...);
  }
  template <class... Orders> bool compare_exchange_weak(T& expected, T value, Orders... orders) noexcept {
    return step(), base::compare_exchange_weak(expected, value, orders...);
  }
  template <class Base = base>
  T fetch_add(typename Base::difference_type n, std::memory_order order = strongest) noexcept {
    return step(), base::fetch_add(n, order);
  }
  template <class Base = base>
  T fetch_sub(typename Base::difference_type n, std::memory_order order = strongest) noexcept {
    return step(), base::fetch_sub(n, order);
  }
  T fetch_and(T bits, std::memory_order order = strongest) noexcept {
    return step(), base::fetch_and(bits, order);
  }
  T fetch_or(T bits, std::memory_order order = strongest) noexcept {
    return step(), base::fetch_or(bits, order);
  }
};

template <class T> class atomic_ref : private std::atomic_ref<T> {
  using base = std::atomic_ref<T>;

 public:
  explicit atomic_ref(T& object) noexcept : base(object) {}
  T load(std::memory_order order) const noexcept { return step(), base::load(order); }
  void store(T value, std::memory_order order) const noexcept { step(), base::store(value, order); }
};

} // namespace stepped

#else

inline void step() noexcept {}

inline namespace plain {

using std::atomic;
using std::atomic_ref;

} // namespace plain

#endif

/// Adds to a word that only the calling thread writes. Cost: no locked instruction.
template <class T>
void add_own(atomic<T>& to, std::type_identity_t<T> n,
             std::memory_order order = std::memory_order_relaxed) noexcept {
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(COREWISE_FAULTS)
  // One instruction, as Clang makes of the line below; GCC makes three. The processor stores in order.
  if constexpr (sizeof(T) == 8) {
    if (order == std::memory_order_relaxed)
      asm("addq %1, %0" : "+m"(to) : "er"(n) : "cc");
    else
      asm volatile("addq %1, %0" : "+m"(to) : "er"(n) : "cc", "memory");
    return;
  }
#endif
  to.store(to.load(std::memory_order_relaxed) + n, order); // pairs: its caller says
}

} // namespace corewise::detail
