#pragma once

#include <corewise/engine/engine_set.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::admin {

/// The engines of which a server tells: one, or those of a set.
class served {
 public:
  explicit served(engine& e) : engines_{&e}, names_{std::string()} {}
  explicit served(engine_set& all) : set_(all.size() > 1 ? &all : nullptr) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      engines_.push_back(&all[i]);
      names_.push_back(all.size() > 1 ? all.name(i) : std::string());
    }
  }

  std::size_t size() const noexcept { return engines_.size(); }
  bool several() const noexcept { return engines_.size() > 1; }
  engine& operator[](std::size_t i) const noexcept { return *engines_[i]; }
  /// Returns the engine's name; empty: it is alone.
  const std::string& name(std::size_t i) const noexcept { return names_[i]; }

  /// Returns the index of the engine that a query names (`engine=NAME`), or of the only one. Nothing: it names none of
  /// several, or one that there is not.
  std::optional<std::size_t> chosen_by(std::string_view query) const;
  /// Returns the same of a query that may also mean all: nothing if it names none.
  bool names_one(std::string_view query) const;
  /// Returns a sentence that lists the names.
  std::string advice() const;

  /// A profile, and how to give one back: that of an engine, or of the whole set.
  struct profile_place {
    profile now;
    std::function<apply_result(const profile&)> apply;
  };
  /// Returns the place of the profile that a query means. Nothing: it names no engine, and each has a profile of its own.
  std::optional<profile_place> profile_of(std::string_view query) const;

 private:
  engine_set* set_ = nullptr; // of several engines
  std::vector<engine*> engines_;
  std::vector<std::string> names_;
};

} // namespace corewise::admin
