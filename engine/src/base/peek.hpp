#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace corewise::detail {

/// Copies memory of this process that another thread may change, or have freed, meanwhile. Returns false if
/// there is none, or the system refuses (a sandbox may). The copy may mix two moments, so it is for people
/// only. Cost: a system call.
inline bool peek(const void* from, void* to, std::size_t bytes) noexcept {
  const iovec here{to, bytes};
  const iovec there{const_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class T, class U> bool peek(const T* from, U& to) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && std::is_convertible_v<T, U> && alignof(T) == alignof(U));
  const auto bytes = std::as_writable_bytes(std::span<U, 1>(&to, 1));
  return peek(static_cast<const void*>(from), bytes.data(), bytes.size());
}

} // namespace corewise::detail
