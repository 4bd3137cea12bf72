#include "threads/thread_name.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>

namespace corewise::detail {

void name_thread(const profile& p, std::string_view suffix) noexcept {
  const bool named = !p.name.empty() && p.name != profile::unnamed;
  const std::string_view whole = named ? std::string_view(p.name) : "corewise";
  std::array<char, 16> name{}; // the last one stays 0
  const std::size_t room = name.size() - 1 - std::min(suffix.size(), name.size() - 1);
  char* const end = std::ranges::copy(whole.substr(0, room), name.begin()).out;
  std::ranges::copy(suffix.substr(0, name.size() - 1), end);
  ::pthread_setname_np(::pthread_self(), name.data());
}

} // namespace corewise::detail
