#pragma once

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>

#include <cstdint>

namespace corewise::command {

/// Accepts a whole number from `least` to `most` in decimal digits. CLI11 by itself reads 010 as eight.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Accepts a number from `least` to `most`, which NaN is not.
CLI::Validator number_between(double least, double most);

} // namespace corewise::command
