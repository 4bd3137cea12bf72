// Feeds any bytes to the profile's reader. The reader returns a profile that its own checks accept, or throws
// a profile_error with at least one issue, each at a place; anything else is a crash.

#include <corewise/engine/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const corewise::profile p = corewise::parse_profile(text, "fuzz.yaml");
    if (!corewise::check_profile(p).empty()) std::abort();
  } catch (const corewise::profile_error& error) {
    if (error.issues().empty()) std::abort();
    for (const corewise::profile_issue& issue : error.issues())
      if (issue.file != "fuzz.yaml" || issue.message.empty()) std::abort();
  }
  return 0;
}
