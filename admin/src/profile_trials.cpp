#include "profile_trials.hpp"

#include <corewise/engine/profile_text.hpp>

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
    for (const auto& [i, before] : t.single) t.given[i] = profile_text(engines_[i].configuration());
  } catch (const std::bad_alloc&) {
    return; // what is not noted is put back in any case
  }
}

/// Takes the engines out to which the program has given another profile since.
void profile_trials::leave_changed(trial& t) const {
  for (const auto& [i, text] : t.given)
    if (!text.empty() && profile_text(engines_[i].configuration()) != text) t.single.erase(i);
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

void profile_trials::revert(time_point now, const std::function<void(const std::string&)>& log) {
  for (std::size_t i = 0; i < trials_.size();) {
    if (trials_[i].until > now) {
      ++i;
      continue;
    }
    const std::string of = text_for(trials_[i]);
    std::string line = "the trial" + of + " is over: the profile before it holds again";
    try {
      trial ends = trials_[i];
      leave_changed(ends);
      const apply_result result = ends.single.empty() ? apply_result() : put_back(ends);
      if (ends.single.empty())
        line = fmt::format(
            "the trial{} is over: the program has changed the profile meanwhile, and that stays", of);
      if (!result.applied())
        line = fmt::format("the trial{} is over, but the profile before it is refused: {}", of,
                           result.to_text());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      line = fmt::format("the trial{} is over, but the profile before it is refused: {}", of, error.what());
    }
    trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(i));
    log(line);
  }
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
