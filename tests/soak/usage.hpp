#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace corewise::tests {

/// What the process uses.
struct usage {
  double megabytes = 0;
  double threads = 0;
  double descriptors = 0;
};

inline double entries_in(const char* folder) {
  return static_cast<double>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

inline usage used_now() {
  std::ifstream pages("/proc/self/statm");
  double all = 0;
  double resident = 0;
  pages >> all >> resident;
  return {resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6, entries_in("/proc/self/task"),
          entries_in("/proc/self/fd")};
}

inline double median(std::vector<usage> of, double usage::* what) {
  std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), {}, what);
  return of[of.size() / 2].*what;
}

} // namespace corewise::tests
