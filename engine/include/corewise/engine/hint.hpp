#pragma once

#include <corewise/policies/policy.hpp>

namespace corewise {

/// What a submitter wishes about where a task runs: a group, package, node, kind or worker (D11).
using hint = placement_hint;

} // namespace corewise
