#pragma once

#include <cstddef>
#include <string>

namespace corewise::detail {

/// Returns the symbol of the function whose code contains that address, mangled; from the symbols of its
/// file where the file is not stripped, or as `FILE+0x1234`, which `addr2line` takes; empty if no file of the
/// process contains it. Cost: a search through the symbols of a file. Throws `std::bad_alloc`.
std::string function_name(const void* code);

/// Returns the constant text at that address, cut after `most` characters; empty if no file of the process contains
/// it, since its module was unloaded. Throws `std::bad_alloc`.
std::string constant_text(const char* text, std::size_t most);

/// Returns the name of a coroutine's function for people, by the function that resumes it.
std::string coroutine_name(const void* resume);

} // namespace corewise::detail
