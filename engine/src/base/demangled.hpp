#pragma once

#include <string>

namespace corewise::detail {

/// Returns a mangled name as people write it, and other texts as they are. Throws `std::bad_alloc`.
std::string demangled(const char* name);

/// Returns the kind of a task for people: `demangled`, with at most 120 characters. Argument lists of
/// templates are left out first, then the middle. Throws `std::bad_alloc`.
std::string kind_text(const char* name);

} // namespace corewise::detail
