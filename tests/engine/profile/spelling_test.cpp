#include "quotation.hpp"
#include "spelling.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace corewise::detail;

TEST_CASE("the edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("spill", "spill") == 0);
  CHECK(edit_distance("spil", "spill") == 1);
  CHECK(edit_distance("spilll", "spill") == 1);
  CHECK(edit_distance("spoll", "spill") == 1);
  CHECK(edit_distance("psill", "spill") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest word has the least distance, and among equal ones the same first letter, else it is "
          "the first") {
  const std::vector<std::string> words{"spin", "spill", "spins"};
  CHECK(nearest_word("spil", words) == "spill");
  CHECK(nearest_word("spi", words) == "spin");
  CHECK(nearest_word("", {}) == "");
}

TEST_CASE("a word is suggested only if it is near enough") {
  const std::vector<std::string> words{"nearest", "random"};
  CHECK(did_you_mean("nearst", words) == "; did you mean \"nearest\"?");
  CHECK(did_you_mean("everywhere", words) == "");
  CHECK(did_you_mean("", words) == "");
}

TEST_CASE("text is cut between characters, and control characters are escaped") {
  CHECK(printable("a\tb\x7f") == "a\\x09b\\x7f");
  CHECK(printable("\xC3\xA9\xC3\xA9", 3) == "\xC3\xA9...");
  CHECK(quote(std::string(61, 'a')) == '"' + std::string(60, 'a') + "...\"");
}
