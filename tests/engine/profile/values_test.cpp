#include "duration_text.hpp"
#include "value_rule.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace corewise::detail;
using namespace std::chrono_literals;
using sort = value_rule::sort;

TEST_CASE("durations are read in each unit") {
  CHECK(parse_duration("7ns") == 7ns);
  CHECK(parse_duration("50us") == 50us);
  CHECK(parse_duration("50µs") == 50us);
  CHECK(parse_duration("1ms") == 1ms);
  CHECK(parse_duration("10s") == 10s);
  CHECK(parse_duration("2min") == 2min);
  CHECK(parse_duration("24h") == 24h);
  CHECK(parse_duration("0us") == 0us);
}

TEST_CASE("durations may have a fraction that is a whole number of nanoseconds") {
  CHECK(parse_duration("1.5ms") == 1500us);
  CHECK(parse_duration("0.000000001s") == 1ns);
  CHECK(parse_duration("0.5ns") == std::nullopt);
  CHECK(parse_duration("1.0000000001s") == std::nullopt);
}

TEST_CASE("texts that are not durations are refused") {
  for (const char* wrong : {"",
                            "us",
                            "5",
                            "-5us",
                            "+5us",
                            "5 us",
                            " 5us",
                            "5us ",
                            "5US",
                            "5m",
                            "5d",
                            "1e3us",
                            "0x5us",
                            ".5ms",
                            "5.ms",
                            "1.5.5ms",
                            "9223372036854775807s",
                            "99999999999999999999s",
                            "nan",
                            "5uss"})
    CHECK_MESSAGE(parse_duration(wrong) == std::nullopt, wrong);
}

TEST_CASE("durations are written in the largest unit that fits") {
  CHECK(to_text(std::chrono::nanoseconds(1500us)) == "1500us");
  CHECK(to_text(std::chrono::nanoseconds(10s)) == "10s");
  CHECK(to_text(std::chrono::nanoseconds(24h)) == "24h");
  CHECK(to_text(7ns) == "7ns");
  CHECK(to_text(0ns) == "0us");
}

TEST_CASE("whole numbers include both bounds") {
  const value_rule rule{sort::integer, {}, 2, 8, false};
  CHECK(read_value(rule, "2", false) == setting(std::uint64_t{2}));
  CHECK(read_value(rule, "8", false) == setting(std::uint64_t{8}));
  CHECK(read_value(rule, "1", false) == std::nullopt);
  CHECK(read_value(rule, "9", false) == std::nullopt);
  CHECK(read_value(rule, "4", true) == std::nullopt);
}

TEST_CASE("a rule for powers of two accepts only powers of two") {
  const value_rule rule{sort::integer, {"unbounded"}, 2, 64, true};
  CHECK(read_value(rule, "32", false) == setting(std::uint64_t{32}));
  CHECK(read_value(rule, "33", false) == std::nullopt);
  CHECK(read_value(rule, "1", false) == std::nullopt);
  CHECK(read_value(rule, "unbounded", false) == setting("unbounded"));
  CHECK(describe(rule) == "unbounded or a power of two from 2 to 64");
}

TEST_CASE("numbers are decimal and finite") {
  const value_rule rule{sort::number, {}, 0, 1000, false};
  CHECK(read_value(rule, "2.5", false) == setting(2.5));
  CHECK(read_value(rule, "0", false) == setting(0.0));
  CHECK(read_value(rule, "1000", false) == setting(1000.0));
  for (const char* wrong : {"1000.1", "-1", "1e2", ".5", "5.", ".inf", "nan", "inf", "1,5", "0x1", ""})
    CHECK_MESSAGE(read_value(rule, wrong, false) == std::nullopt, wrong);
}

TEST_CASE("CPU lists are read as Linux writes them") {
  const value_rule rule{sort::cpu_list, {}, 0, 0, false};
  CHECK(read_value(rule, "0-3,8", true) == setting("0-3,8"));
  CHECK(read_value(rule, "5", false) == setting("5"));
  for (const char* wrong : {"3-1", "a", "0-", "0,,1", "70000", "-1"})
    CHECK_MESSAGE(read_value(rule, wrong, true) == std::nullopt, wrong);
}

TEST_CASE("texts are one line of limited length") {
  const value_rule rule{sort::text, {}, 1, 5, false};
  CHECK(read_value(rule, "abcde", false) == setting("abcde"));
  CHECK(read_value(rule, "\xC3\xA9", false) == setting("\xC3\xA9"));
  for (const char* wrong : {"", "abcdef", "a\nb", "a\x1b", "\x7f"})
    CHECK_MESSAGE(read_value(rule, wrong, true) == std::nullopt, wrong);
}

TEST_CASE("the same rules hold for values that are set in code") {
  CHECK(takes({sort::integer, {}, 1, 5, false}, std::uint64_t{5}));
  CHECK_FALSE(takes({sort::integer, {}, 1, 5, false}, std::uint64_t{6}));
  CHECK_FALSE(takes({sort::duration, {}, 0, 5, false}, -1ns));
  CHECK_FALSE(takes({sort::duration, {"never"}, 0, 5, false}, 6ns));
  CHECK_FALSE(takes({sort::number, {}, 0, 5, false}, std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(takes({sort::word, {"a"}, 0, 0, false}, setting("b")));
  CHECK_FALSE(takes({sort::word, {"a"}, 0, 0, false}, std::uint64_t{7}));
}
