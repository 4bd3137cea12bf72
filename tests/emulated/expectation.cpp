#include "expectation.hpp"

#include <stdexcept>

namespace corewise::emulated {

expectation read_expectation(std::istream& in) {
  expectation facts;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) throw std::runtime_error("a fact without a value: " + line);
    if (!facts.emplace(line.substr(0, blank), line.substr(blank + 1)).second)
      throw std::runtime_error("told twice: " + line);
  }
  return facts;
}

} // namespace corewise::emulated
