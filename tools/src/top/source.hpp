#pragma once

#include "../connect/admin_client.hpp"
#include "reading.hpp"

#include <memory>
#include <optional>
#include <string>

namespace corewise::command {

/// Where readings come from.
class reading_source {
 public:
  reading_source() = default;
  reading_source(const reading_source&) = delete;
  reading_source& operator=(const reading_source&) = delete;
  virtual ~reading_source() = default;

  virtual std::string name() const = 0;
  /// Returns the next reading, or nothing at the end. Throws `unreachable`, `reading_error`.
  virtual std::optional<reading> next() = 0;
};

/// Makes a source from a recorded file. Throws `std::system_error` that names the file.
std::unique_ptr<reading_source> recorded_readings(const std::string& file);
/// Makes a source from the admin server of a running engine. `record`: a file in which readings are kept, made
/// with the first of them; empty: none. `next` then throws `std::system_error` that names it, where it exists
/// or cannot be made.
std::unique_ptr<reading_source> live_readings(const admin_address& address, const std::string& record);

} // namespace corewise::command
