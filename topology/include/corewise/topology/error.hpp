#pragma once

#include <stdexcept>

namespace corewise {

/// A machine that cannot be described or used. Says what was asked for, what was found and what would be
/// right.
class topology_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

} // namespace corewise
