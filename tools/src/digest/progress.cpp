#include "progress.hpp"

#include "../streams.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace corewise::command {

std::string with_unit(double bytes) {
  static constexpr std::array<std::string_view, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

bool progress::is_due() { return enabled_ && ++calls_ % 64 == 0 && clock::now() - last_ >= interval; }

void progress::show(const digest_count& so_far) {
  if (!enabled_) return;
  last_ = clock::now();
  const double seconds = std::chrono::duration<double>(last_ - begin_).count();
  print_aside(fmt::format("\r{} files, {}, {}/s\033[K", so_far.files,
                          with_unit(static_cast<double>(so_far.bytes)),
                          with_unit(static_cast<double>(so_far.bytes) / seconds)));
  shown_ = true;
}

void progress::clear() {
  if (shown_) print_aside("\r\033[K");
  shown_ = false;
}

} // namespace corewise::command
