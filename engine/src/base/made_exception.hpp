#pragma once

#include <exception>

namespace corewise::detail {

/// Returns an exception of type E; where there is no memory for its text, the `std::bad_alloc` that says so.
template <class E> std::exception_ptr made_exception() noexcept {
  try {
    return std::make_exception_ptr(E());
  } catch (...) {
    return std::current_exception();
  }
}

} // namespace corewise::detail
