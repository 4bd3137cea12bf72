#include <corewise/topology/cpu_set.hpp>

#include <doctest/doctest.h>

using namespace corewise;

TEST_CASE("cpu_set: a Linux CPU list comes back in its shortest form") {
  CHECK(cpu_set::parse("0-3,8")->to_string() == "0-3,8");
  CHECK(cpu_set::parse("3,2,1,0,8,2")->to_string() == "0-3,8");
  CHECK(cpu_set::parse("0-14:2/4")->to_string() == "0-1,4-5,8-9,12-13");
  CHECK(cpu_set::parse("7")->to_string() == "7");
  CHECK(cpu_set::parse(" \t0,2-3\n")->to_string() == "0,2-3");
  CHECK(cpu_set::parse("63-64,65535")->to_string() == "63-64,65535");
}

TEST_CASE("cpu_set: an empty list is the empty set") {
  CHECK(cpu_set::parse("")->empty());
  CHECK(cpu_set::parse(" \n")->empty());
  CHECK(cpu_set().to_string().empty());
}

TEST_CASE("cpu_set: texts that are not CPU lists are refused") {
  for (const auto* text : {"a",       "1-",    "-1",         "1,",    ",1",      "1,,2",
                           "3-1",     "1-2-3", "1 2",        "0x3",   "1-4:0/2", "1-4:3/2",
                           "1-4:1/0", "1-4:1", "4294967296", "65536", "0-65536", "99999999999999999999",
                           "1.5",     "+1"}) {
    CAPTURE(text);
    CHECK_FALSE(cpu_set::parse(text).has_value());
  }
}

TEST_CASE("cpu_set: a range holds both its ends, and a backward one nothing") {
  CHECK(cpu_set::range(2, 5).to_string() == "2-5");
  CHECK(cpu_set::range(5, 5).to_string() == "5");
  CHECK(cpu_set::range(5, 2).empty());
  CHECK(cpu_set::range(63, 64).to_string() == "63-64");
  CHECK(cpu_set::range(3, 191).to_string() == "3-191");
  CHECK(cpu_set::range(128, 128) == cpu_set::parse("128"));
  CHECK(cpu_set::range(0, ~0U).size() == cpu_set::largest + 1);
  CHECK(cpu_set::range(~0U, ~0U).empty());
}

TEST_CASE("cpu_set: inserting and erasing the highest CPU leaves an equal set") {
  auto cpus = cpu_set::range(0, 1);
  const auto before = cpus;
  cpus.insert(500);
  CHECK(cpus != before);
  CHECK(cpus.contains(500));
  CHECK_FALSE(cpus.contains(501));
  cpus.erase(500);
  CHECK(cpus == before);
  cpus.erase(9000);
  CHECK(cpus == before);
}

TEST_CASE("cpu_set: the first CPU is the lowest one, in any word") {
  CHECK(cpu_set::parse("200,130")->first() == 130);
  CHECK(cpu_set::parse("0-3")->first() == 0);
}
