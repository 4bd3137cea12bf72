#include "probe.hpp"

#include <fmt/format.h>

namespace corewise::command {

finding sample_list::result(std::string how) const {
  if (const auto value = spread_of(samples_)) return {value, std::move(how), ""};
  if (!why_not_.empty()) return {std::nullopt, std::move(how), why_not_};
  if (spoilt_ != 0)
    return {std::nullopt, std::move(how), "the two threads did not run at the same time: the CPUs are busy"};
  return {std::nullopt, std::move(how), fmt::format("only {} samples in the given time", samples_.size())};
}

} // namespace corewise::command
