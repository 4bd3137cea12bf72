#include "base/demangled.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace corewise::detail {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

} // namespace corewise::detail
