// Prints one of the pages that are made from the table of the profile's fields.
#include <corewise/engine/profile.hpp>

#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  const std::string_view page = argc == 2 ? argv[1] : "";
  if (page == "json") {
    std::cout << corewise::profile_schema();
  } else if (page == "md") {
    std::cout << corewise::profile_reference();
  } else {
    std::cerr << "usage: profile_pages json|md\n";
    return 2;
  }
  return std::cout.flush() ? 0 : 1;
}
