#pragma once

#include <string>

namespace corewise::detail {

/// A mangled name as people write it; other texts as they are. Throws `std::bad_alloc`.
std::string demangled(const char* name);

} // namespace corewise::detail
