#pragma once

#include <string>
#include <vector>

namespace corewise {

/// What became of a profile that was given to a running engine: it holds as a whole, or not at all.
struct [[nodiscard]] apply_result {
  /// One thing that a running engine cannot change.
  struct reason {
    std::string key; ///< the path of the key, "queues.local"; empty when it is about none
    std::string why; ///< what was found, and what the engine has
  };
  std::vector<reason> refused; ///< empty: the profile holds

  bool applied() const noexcept { return refused.empty(); }
  /// A line for each reason, "key: why".
  std::string to_text() const;
};

} // namespace corewise
