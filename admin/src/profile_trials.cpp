#include "profile_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace corewise::admin {

apply_result profile_trials::change(std::optional<std::size_t> which, const profile& p,
                                    std::optional<time_point> until) {
  trial before = now(which);
  std::vector<trial> rest; // of the earlier trials: what is changed now is confirmed
  if (which)
    for (trial t : trials_) {
      t.single.erase(*which);
      if (!t.single.empty()) rest.push_back(std::move(t));
    }
  if (until) {
    before.until = *until;
    rest.push_back(std::move(before));
  }
  apply_result result = which ? engines_[*which].apply(p) : engines_.apply_to_all(p);
  if (!result.applied()) return result;
  trials_ = std::move(rest);
  if (until) note_given(trials_.back());
  return result;
}

void profile_trials::note_given(trial& t) const {
  try {
    for (const auto& [i, before] : t.single) t.given[i] = settings_text(engines_[i].configuration());
  } catch (const std::bad_alloc&) {
    return; // what is not noted is put back in any case
  }
}

/// Takes the engines out to which the program has given another profile since.
void profile_trials::leave_changed(trial& t) const {
  for (const auto& [i, text] : t.given)
    if (!text.empty() && settings_text(engines_[i].configuration()) != text) t.single.erase(i);
}

profile_trials::trial profile_trials::now(std::optional<std::size_t> which) const {
  trial t;
  if (!which) t.common = engines_.common_profile();
  for (std::size_t i = 0; i < engines_.size(); ++i)
    if (!which || *which == i) t.single.emplace(i, engines_[i].configuration());
  return t;
}

std::optional<profile_trials::time_point> profile_trials::next() const noexcept {
  const auto first = std::ranges::min_element(trials_, {}, &trial::until);
  return first == trials_.end() ? std::nullopt : std::optional(first->until);
}

void profile_trials::end_all(const log_function& log) noexcept {
  while (!trials_.empty()) {
    const std::size_t before = trials_.size();
    try {
      end_until(time_point::max(), "ends with the admin server", log);
    } catch (
        ...) { // the program's log has thrown, or there is no memory to end the first one, which then stays
      if (trials_.size() == before) trials_.erase(trials_.begin());
    }
  }
}

void profile_trials::end_until(time_point now, std::string_view how, const log_function& log) {
  for (std::size_t i = 0; i < trials_.size();) {
    if (trials_[i].until > now) {
      ++i;
      continue;
    }
    const std::string line = end(trials_[i], how);
    trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(i));
    log(line);
  }
}

/// Puts back what was there before a trial. Returns the line for the log. Throws `std::bad_alloc`.
std::string profile_trials::end(const trial& t, std::string_view how) const {
  const std::string ends = fmt::format("the trial{} {}", text_for(t), how);
  // Made here: without memory for it after that, the same would be put back twice.
  std::string well = ends + ": the profile before it holds again";
  std::string why;
  try {
    trial rest = t;
    leave_changed(rest);
    if (rest.single.empty()) return ends + ": the program has changed the profile meanwhile, and that stays";
    const apply_result result = put_back(rest);
    if (result.applied()) return well;
    why = result.to_text();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  }
  return fmt::format("{}, but the profile before it is refused: {}", ends, why);
}

/// Gives each engine what it had; one that was changed since by itself keeps that.
apply_result profile_trials::put_back(const trial& t) const {
  trial wanted = t;
  if (t.common) {
    for (std::size_t i = 0; i < engines_.size(); ++i)
      wanted.single.try_emplace(i, engines_[i].configuration());
    if (apply_result refused = engines_.apply_to_all(*t.common); !refused.applied()) return refused;
  }
  for (auto& [i, own] : wanted.single)
    if (apply_result refused = engines_[i].apply(std::move(own)); !refused.applied()) return refused;
  return {};
}

std::string profile_trials::text_for(const trial& t) const {
  return t.common || !engines_.several() ? std::string() : " of " + engines_.label(t.single.begin()->first);
}

} // namespace corewise::admin
