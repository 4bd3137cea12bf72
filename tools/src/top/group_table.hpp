#pragma once

#include "../style.hpp"
#include "difference.hpp"
#include "picture.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace corewise::command {

/// Adds a row for each group to the picture, at most `rows` with the head. Groups for which there is no room are
/// summed up in one row.
void add_group_table(picture& to, const reading& now, const activity& before, const frame& in,
                     std::size_t rows);

/// The colour of a part of the time for which workers were busy.
ink ink_of_share(double share) noexcept;
/// Writes a part as "12%", or "-".
std::string percent(std::optional<double> share);
/// Writes a quantile as "<16us", ">8.4s", or "-" where there are no samples.
std::string bound_text(const quantiles& of, std::optional<double> bound_s, const reading& now);

} // namespace corewise::command
