#pragma once

#include <string>
#include <string_view>

namespace corewise::command {

/// Fills those of the descriptors 0, 1 and 2 that the caller has closed with descriptors that refuse their
/// use, so that no file that the command opens is taken for one of them. Makes a broken pipe an error instead
/// of a signal.
void guard_standard_streams();

/// Writes all of it to standard output. Throws `std::system_error` that names standard output.
void print(std::string_view text);
/// Writes all of it to standard error, for an answer that goes there. Throws `std::system_error` that names standard error.
void print_beside(std::string_view text);
/// Writes "corewise: `message`" and a new line to standard error; ignores errors.
void complain(std::string_view message);
/// Writes to standard error; ignores errors.
void print_aside(std::string_view text);

/// Reads a file, "-" being standard input; at most `limit` bytes of it. Throws `std::system_error` that names
/// it.
std::string read_text(const std::string& file, std::size_t limit);

} // namespace corewise::command
