#pragma once

#include <istream>
#include <map>
#include <string>

namespace corewise::emulated {

/// The facts of a machine as it was configured: a fact per line, its name first ("llcs 0-3 4-7"); `#` begins
/// a comment.
using expectation = std::map<std::string, std::string>;

/// Reads the facts. Throws `std::runtime_error` for a line without a value and for a fact that is told twice.
expectation read_expectation(std::istream& in);

} // namespace corewise::emulated
