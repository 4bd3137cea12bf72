// Feeds any bytes to the reader of machine files. The reader returns a machine, or throws a profile_error
// with at least one issue; anything else is a crash.

#include "machine_file.hpp"

#include <corewise/engine/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto machine = corewise::detail::parse_machine_file(text, "fuzz.yaml");
    if (machine.version != 1) std::abort();
  } catch (const corewise::profile_error& error) {
    if (error.issues().empty()) std::abort();
    for (const corewise::profile_issue& issue : error.issues())
      if (issue.file != "fuzz.yaml" || issue.message.empty()) std::abort();
  }
  return 0;
}
