#pragma once

#include <corewise/engine/profile.hpp>

#include <string_view>

namespace corewise::detail {

/// Names the calling thread after the profile, as `NAME/g0`. The kernel keeps 15 bytes of a name; the
/// profile's part is cut, and `suffix` never. A profile without a name of its own counts as "corewise".
void name_thread(const profile& p, std::string_view suffix) noexcept;

} // namespace corewise::detail
