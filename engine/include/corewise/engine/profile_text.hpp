#pragma once

#include <corewise/engine/profile.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace corewise {

/// Returns a remark of one line on the value of a key, "steal.minimum_at.same_node", for its reader; "" for
/// none.
using profile_remark = std::function<std::string(std::string_view key)>;

/// Returns the profile as YAML: the values that differ from the defaults, and the values on which there is a
/// remark, which stands behind the value. `parse_profile` reads it to the same profile. It leaves out
/// `workers.total` and `workers.quota_part`, which have no keys, and what is known of the machine but not from a
/// profile: the name of its source, its costs. Call from any thread.
std::string profile_text(const profile& p, const profile_remark& remark = {});

} // namespace corewise
