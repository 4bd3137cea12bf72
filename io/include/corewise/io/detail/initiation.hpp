#pragma once

#include <corewise/engine/suspended.hpp>
#include <corewise/io/asio.hpp>

#include <sys/socket.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

// What an initiation, which Asio hands to `use_task`, tells of its operation before that begins: what it waits for, and
// the object of which it is.

namespace corewise::io::detail {

/// Whether an initiation holds another one, as those of `as_tuple` and the like.
template <class Initiation>
concept wraps_initiation = requires(Initiation& i) { i.initiation_; };

/// Returns what a coroutine waits for at Asio's own objects, which do not say it: by the name of the initiation, as in
/// `basic_datagram_socket<…>::initiate_async_receive_from`. Names of another form mean `wait_kind::io`.
template <class Initiation> consteval corewise::wait_kind kind_by_name() noexcept {
  std::string_view name = __PRETTY_FUNCTION__;
  const std::size_t at = name.rfind("initiate_async_");
  if (at == std::string_view::npos) return corewise::wait_kind::io;
  name.remove_prefix(at + std::string_view("initiate_async_").size());
  constexpr std::pair<std::string_view, corewise::wait_kind> beginnings[] = {
      {"read", corewise::wait_kind::read},
      {"receive", corewise::wait_kind::read},
      {"write", corewise::wait_kind::write},
      {"send", corewise::wait_kind::write},
      {"accept", corewise::wait_kind::accept},
      {"move_accept", corewise::wait_kind::accept},
      {"connect", corewise::wait_kind::connect},
      {"range_connect", corewise::wait_kind::connect},
      {"iterator_connect", corewise::wait_kind::connect},
  };
  for (const auto& [beginning, kind] : beginnings)
    if (name.starts_with(beginning)) return kind;
  return corewise::wait_kind::io;
}
/// The kind of the wait of a coroutine: some initiations say it.
template <class Initiation> inline constexpr corewise::wait_kind kind_of = kind_by_name<Initiation>();
template <class Initiation>
  requires requires { Initiation::kind; }
inline constexpr corewise::wait_kind kind_of<Initiation> = Initiation::kind;
template <template <class> class Wrapper, class Initiation>
  requires wraps_initiation<Wrapper<Initiation>>
inline constexpr corewise::wait_kind kind_of<Wrapper<Initiation>> = kind_of<Initiation>;

/// Whether an object has a descriptor, and does not note its waits itself.
template <class Object>
concept has_descriptor = requires(Object& o) {
  { o.native_handle() } -> std::same_as<int>;
} && !requires { typename Object::notes_waits; };

/// Stands for the object of an initiation, a socket or the like, whose type only the initiation's constructor tells. An
/// object made from it asks that one for its descriptor.
class object_of_initiation {
 public:
  object_of_initiation(void* object, int& descriptor) noexcept : object_(object), descriptor_(descriptor) {}

  template <has_descriptor Object> operator Object*() const { // NOLINT(google-explicit-constructor)
    auto* const object = static_cast<Object*>(object_);
    descriptor_ = object->native_handle();
    return object;
  }
  template <has_descriptor Object> operator Object&() const { // NOLINT(google-explicit-constructor)
    return *static_cast<Object*>(*this);
  }

 private:
  void* object_;
  int& descriptor_;
};

/// Whether an initiation is of an object with a descriptor: it is made of a pointer or a reference to that object, and has
/// nothing else. So are all of Asio's.
template <class Initiation>
inline constexpr bool names_descriptor =
    sizeof(Initiation) == sizeof(void*) && std::is_trivially_copyable_v<Initiation> &&
    std::is_constructible_v<Initiation, object_of_initiation>;
template <template <class> class Wrapper, class Initiation>
  requires wraps_initiation<Wrapper<Initiation>>
inline constexpr bool names_descriptor<Wrapper<Initiation>> = names_descriptor<Initiation>;

/// Returns the descriptor of the object; -1: it has none now. Call while the object may be used.
template <class Initiation> int descriptor_of(const Initiation& of) {
  if constexpr (wraps_initiation<const Initiation>) {
    return descriptor_of(of.initiation_);
  } else {
    int descriptor = -1;
    static_cast<void>(Initiation(object_of_initiation(std::bit_cast<void*>(of), descriptor)));
    return descriptor;
  }
}

/// Whether an argument is the address to which an operation connects or sends.
template <class Argument>
concept is_endpoint = requires(const Argument& a) {
  { a.data() } -> std::convertible_to<const sockaddr*>;
  { a.size() } -> std::convertible_to<std::size_t>;
};

} // namespace corewise::io::detail
