#pragma once

#include <corewise/policies/detail/atomic.hpp>

#include <condition_variable>
#include <mutex>

// The locks of the engine. In every build they are those of the standard library; in that of tests/faults each lock is a
// step as well (atomic.hpp).

namespace corewise::detail {

#ifdef COREWISE_FAULTS

inline namespace stepped {

class mutex : private std::mutex {
 public:
  void lock() { step(), std::mutex::lock(); }
  bool try_lock() { return step(), std::mutex::try_lock(); }
  void unlock() { std::mutex::unlock(), step(); }
};

using condition_variable = std::condition_variable_any;

} // namespace stepped

#else

inline namespace plain {

using std::condition_variable;
using std::mutex;

} // namespace plain

#endif

} // namespace corewise::detail
