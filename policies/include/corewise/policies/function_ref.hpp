#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace corewise {

template <class Signature> class function_ref;

/// A borrowed function, for the length of a call: two words, no allocation. As std::function_ref of C++26, as
/// far as it is needed here.
template <class Result, class... Args> class function_ref<Result(Args...)> {
 public:
  /// Borrows `f`, which must outlive this object.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref> &&
             std::is_invocable_r_v<Result, F&, Args...>)
  function_ref(F&& f) noexcept // NOLINT(bugprone-forwarding-reference-overload): constrained above
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

} // namespace corewise
