#include "verdict.hpp"

#include <iostream>

namespace corewise::emulated {

void verdict::same(const std::string& what, const std::string& is, const std::string& should_be) {
  if (is == should_be) {
    ++passed_;
    return;
  }
  ++failed_;
  std::cout << "FAILED " << what << ": is " << is << ", should be " << should_be << '\n';
}

} // namespace corewise::emulated
