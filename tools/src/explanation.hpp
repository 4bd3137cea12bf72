#pragma once

#include "json_text.hpp"
#include "load_state.hpp"
#include "style.hpp"

#include <corewise/policies/policy.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace corewise::command {

/// Where a task goes at a moment, and which other offers the policy weighed.
struct explanation {
  task_origin origin; ///< as the engine sees it
  placement chosen;   ///< the policy's answer
  std::vector<considered> weighed;
  std::string_view score_unit; ///< empty: the policy compares nothing
};

/// Asks the policy of the profile, as an engine would, with workers that stand as the state says.
/// Throws `profile_error` when there is no such policy.
explanation explain(const load_state& state, const divided_machine& m, const profile& p);

json json_of(const explanation& e);
/// Writes sentences, and a table of the weighed offers, the cheapest first.
std::string text_of(const explanation& e, const load_state& state, const divided_machine& m,
                    const style& look);

} // namespace corewise::command
