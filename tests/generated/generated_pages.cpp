// Prints a page that is made from the table of the profile's fields, or from that of the metrics.
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile.hpp>

#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view page = argc == 2 ? argv[1] : "";
  if (page == "configs/profile.schema.json") {
    std::cout << corewise::profile_schema();
  } else if (page == "docs/profile.md") {
    std::cout << corewise::profile_reference();
  } else if (page == "docs/metrics.md") {
    std::cout << corewise::metrics_reference();
  } else {
    std::cerr << "usage: generated_pages configs/profile.schema.json|docs/profile.md|docs/metrics.md\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
