#pragma once

#include <string>
#include <vector>

namespace corewise {

/// The result of giving a profile to a running engine: the profile holds as a whole, or not at all.
struct [[nodiscard]] apply_result {
  /// One thing that a running engine cannot change.
  struct reason {
    std::string key; ///< the path of the key, "queues.local"; empty when the reason is about no key
    std::string why; ///< what was found, and what the engine has
  };
  std::vector<reason> refused; ///< empty: the profile holds, or `in_child`
  /// This process is a process fork of the one that made the engine: nothing has changed. The answer takes no memory,
  /// so it gives no reason.
  bool in_child = false;

  bool applied() const noexcept { return refused.empty() && !in_child; }
  /// Returns a line for each reason, "key: why"; one line if `in_child`.
  std::string to_text() const;
};

} // namespace corewise
