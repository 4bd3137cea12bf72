#pragma once

#include <corewise/engine/profile.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace corewise {

/// A word on the value of a key, "steal.minimum_at.same_node", for its reader; "" for none. One line.
using profile_remark = std::function<std::string(std::string_view key)>;

/// The profile as YAML: what differs from the defaults, and what there is a remark on, which stands behind the value.
/// `parse_profile` reads it to the same profile. `workers.total`, which has no key, is left out, and so is what is known
/// of the machine but not from a profile: the name of its source, its costs. Any thread.
std::string profile_text(const profile& p, const profile_remark& remark = {});

} // namespace corewise
