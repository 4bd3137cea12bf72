#pragma once

#include <corewise/engine/engine_set.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::admin {

/// Returns what a running engine can have changed of a profile: its text, and the number of workers, which has no key.
std::string settings_text(const profile& p);

/// The engines of which a server tells: one, or those of a set.
class served {
 public:
  explicit served(engine& e) : engines_{&e}, names_{std::string()} {}
  explicit served(engine_set& all) : set_(&all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      engines_.push_back(&all[i]);
      names_.push_back(all.name(i));
    }
  }

  std::size_t size() const noexcept { return engines_.size(); }
  bool several() const noexcept { return engines_.size() > 1; }
  engine& operator[](std::size_t i) const noexcept { return *engines_[i]; }
  /// Returns the engine's name; empty: it is alone.
  std::string label(std::size_t i) const { return several() ? names_[i] : std::string(); }

  /// Returns the index of the engine that a query names (`engine=NAME`), or of the only one. Nothing: it names none of
  /// several, or one that there is not.
  std::optional<std::size_t> chosen_by(std::string_view query) const;
  /// Returns the index of the engine that a query names, or those of all if it names none. Nothing: it names one that there
  /// is not.
  std::vector<std::size_t> meant_by(std::string_view query) const;
  /// Returns whether a query names an engine, be there one or not.
  static bool names_one(std::string_view query);
  /// Returns a sentence that lists the names.
  std::string advice() const;

  /// Returns whether there is a profile of all engines that a query means which names none.
  bool has_common_profile() const { return set_ != nullptr && set_->configuration().has_value(); }
  /// Returns that profile.
  profile common_profile() const { return set_->configuration().value(); }
  /// Returns the profile for all with which that engine would have the one that it has now.
  profile as_common(std::size_t i, const profile& common) const;
  apply_result apply_to_all(const profile& p) const { return set_->apply(p); }

 private:
  engine_set* set_ = nullptr;
  std::vector<engine*> engines_;
  std::vector<std::string> names_; // of an engine without a set: empty
};

} // namespace corewise::admin
