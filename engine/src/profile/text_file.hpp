#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace corewise::detail {

/// The largest profile or machine file, in bytes. The YAML scanner needs up to 250 bytes for each byte of a
/// hostile text, so this bounds memory to 32 MiB and time to a tenth of a second.
inline constexpr std::size_t text_bytes_max = 128 * 1024;

/// Reads a file, or as much of it as shows that it is too large: `text_bytes_max` bytes and one. Pipes are
/// fine. Throws `profile_error` with the file and the reason when it cannot be read.
std::string read_text_file(const std::filesystem::path& file);

} // namespace corewise::detail
