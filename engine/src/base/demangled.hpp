#pragma once

#include <string>

namespace corewise::detail {

/// Returns a mangled name as people write it, and other texts as they are. Throws `std::bad_alloc`.
std::string demangled(const char* name);

} // namespace corewise::detail
