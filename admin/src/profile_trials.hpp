#pragma once

#include "served.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::admin {

/// Changes the profiles of engines, of one or of all together, for good or on trial: then what was there before comes back,
/// unless a later change confirms it, or the program itself has applied another one meanwhile. Call from one thread.
class profile_trials {
 public:
  using log_function = std::function<void(const std::string&)>;
  using time_point = std::chrono::steady_clock::time_point;

  explicit profile_trials(const served& engines) : engines_(engines) {}

  /// Gives a profile to the engine of that index, or to all. `until`: when the trial is over; nothing: it is none. Where the
  /// profile is refused nothing has changed, and an earlier trial goes on. Throws as `engine::apply`.
  apply_result change(std::optional<std::size_t> which, const profile& p, std::optional<time_point> until);

  /// Returns when `revert` is to be called; nothing: no change is on trial.
  std::optional<time_point> next() const noexcept;
  /// Ends the trials that are over by `now`: puts back what was there before. Calls `log` with a line for each. Throws
  /// `std::bad_alloc`, and may then be called again.
  void revert(time_point now, const log_function& log) { end_until(now, "is over", log); }
  /// Ends all trials now, as the server ends: nothing would later. Where there is no memory for that, a change stays.
  void end_all(const log_function& log) noexcept;

 private:
  /// The profile that was in force before a change on trial.
  struct trial {
    time_point until;
    std::optional<profile> common;         ///< where all were changed together
    std::map<std::size_t, profile> single; ///< of each engine that was changed, and not again since
    std::map<std::size_t, std::string>
        given; ///< of these, the `settings_text` on trial; empty: there was no memory for it
  };

  void end_until(time_point now, std::string_view how, const log_function& log);
  std::string end(const trial& t, std::string_view how) const;
  trial now(std::optional<std::size_t> which) const;
  void note_given(trial& t) const;
  void leave_changed(trial& t) const;
  apply_result put_back(const trial& t) const;
  std::string text_for(const trial& t) const;

  const served& engines_;
  std::vector<trial> trials_;
};

} // namespace corewise::admin
