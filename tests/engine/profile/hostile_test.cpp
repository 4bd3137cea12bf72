#include "../../sanitized.hpp"
#include "../../topology/temporary_tree.hpp"
#include "counts.hpp"
#include "error_lines.hpp"
#include "machine_file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <ctime>
#include <fstream>
#include <string_view>

using namespace corewise;
using namespace corewise::tests;

namespace {

constexpr bool memory_is_ours = !sanitized; // a sanitizer keeps freed memory
constexpr double seconds_usual = 0.1;       // the time where no other program runs
constexpr double seconds_most = 10;         // emulated, with sanitizers, on a machine that others use
constexpr long kib_most = 64 * 1024;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the process's memory in KiB: "VmRSS:" now, or "VmHWM:" at most since the last `forget_peak`.
long memory_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name) return status >> word ? std::stol(word) : 0;
  return 0;
}

void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::string repeated(std::string_view unit, std::size_t bytes) {
  std::string text;
  while (text.size() + unit.size() <= bytes) text += unit;
  return text;
}

/// Returns the CPU seconds that it takes to refuse or read a text as a profile and as a machine file.
double reading_seconds(const std::string& text) {
  const double begun = cpu_seconds();
  (void)errors_in(text);
  (void)error_lines([&] { (void)detail::parse_machine_file(text, "f"); });
  return cpu_seconds() - begun;
}

/// Returns whether the time grows as the length does. Then a quarter of the text takes a quarter of the time,
/// on whatever machine; if the time is quadratic it takes a sixteenth. Other programs may disturb any of the
/// pairs; one undisturbed pair is enough.
bool time_is_linear(const std::string& text) {
  const std::string quarter = text.substr(0, text.size() / 4);
  for (int pair = 0; pair < 8; ++pair) {
    const double seconds = reading_seconds(quarter);
    if (reading_seconds(text) < 10 * seconds) return true;
  }
  return false;
}

/// Checks that a text is refused or read in little memory, and in time that grows as its length does.
void check_cheap(const std::string& text) {
  forget_peak();
  const long before = memory_kib("VmRSS:");
  const double seconds = reading_seconds(text);
  if (memory_is_ours) CHECK(memory_kib("VmHWM:") - before < kib_most);
  CHECK(seconds < seconds_most);
  if (seconds > seconds_usual) CHECK(time_is_linear(text));
}

constexpr std::size_t fits = 128 * 1024;

/// The pieces of YAML, in all the combinations that have ever hurt a parser.
const std::vector<std::string> units{"[",          "{",         "[a,",        "{a: ",        "- ",
                                     "? ",         ": ",        "a: ",        "a: [",        "'a' ",
                                     "\"",         "\"a\",",    "&a ",        "*a ",         "!a ",
                                     "a\n",        "- a\n",     "a ",         "#",           "\n",
                                     "|\n",        " ",         "[? ",        "[: ",         "{?",
                                     "]",          "}",         ",",          "--- \n",      "%a\n",
                                     "-\n ",       "a:\n ",     "[\"a\"",     "['a':",       "\"\\n",
                                     "\"a\n",      "'a\n\n",    "[&a ",       "[*",          "{!",
                                     ">\n a\n",    "'",         "a: b\n",     "[\n",         "[a\n,",
                                     "-",          "a:",        "[-",         "[a:b,",       "\r\n",
                                     "\xC3\xA9",   "a #\n",     "[#\n",       "x: |\n  a\n", "[[],",
                                     "{a: {},",    "kinds: [[", "a: &a [*a,", "<<: ",        "!<",
                                     "%TAG ! !\n", "...\n",     "? - ",       "- ? ",        "- - : "};

} // namespace

TEST_CASE("long repetitions of any text are cheap") {
  constexpr std::array<std::string_view, 4> befores{"topology: {use: {packages: [", "", "a: ", "["};
  for (const std::string& unit : units)
    for (const std::string_view before : first_of(befores, 2)) {
      CAPTURE(unit);
      CAPTURE(before);
      check_cheap(std::string(before) + repeated(unit, fits - before.size()));
    }
}

TEST_CASE("deep nesting is refused at its 33rd level") {
  const std::string closed = repeated("[", 100) + repeated("]", 100);
  CHECK(error_in(closed) ==
        "f:1:33: " + repeated("[0]", 96) + ": found more than 32 levels of nesting; a profile has 4");
  CHECK(error_in(repeated("[", fits)).find("found more than 32 levels of nesting") != std::string::npos);
  CHECK(error_in(repeated("{a: ", fits)).find("found more than 32 levels of nesting") != std::string::npos);
  CHECK(error_in(repeated("- ", fits)).find("found more than 32 levels of nesting") != std::string::npos);
}

TEST_CASE("nesting behind a thousand brackets in a comment is not nesting") {
  CHECK(error_in("# " + repeated("[", 100000) + "\nstrict: true\n") == "");
}

TEST_CASE("an alias bomb is refused without being expanded") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  check_cheap(bomb);
  const line_list lines = errors_in(bomb);
  CHECK(lines[0] ==
        "f:1:1: a0: found an unknown key; the nearest is \"io\"; the keys here are version, name, "
        "topology, engines, sharing, workers, dispatch, steal, queues, injection, idle, blocking, io, "
        "limits, debug, "
        "on_exception, strict");
  CHECK(lines[1] == "f:1:5: a0: found an anchor; anchors are not allowed, write the value without it");
  CHECK(lines.size() == 30 + 30 + 290);
}

TEST_CASE("too many values are refused") {
  const std::string line = error_in("[" + repeated("a,", 100000) + "]");
  CHECK(line.find(": found more than 20000 values; a profile has about 100") != std::string::npos);
}

TEST_CASE("ten thousand unknown keys give a thousand error lines and one that counts the others") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  check_cheap(text);
  const line_list lines = errors_in(text);
  REQUIRE(lines.size() == 1001);
  CHECK(lines.back() == "f: 4000 more errors are not shown; correct the first ones");
}

TEST_CASE("thousands of names that mean none of thousands of kinds make short errors, and all are counted") {
  constexpr int kinds = 2000;
  constexpr int names = 8000;
  std::string text = "topology: {kinds: [";
  for (int i = 0; i < kinds; ++i)
    text += "{cpus: " + std::to_string(i) + ", name: a" + std::to_string(i) + "}, ";
  text += "], use: {kinds: [";
  for (int i = 0; i < names; ++i) text += "b" + std::to_string(i) + ", ";
  const line_list lines = errors_in(text + "]}}\n");
  REQUIRE(lines.size() == 1001);
  CHECK(lines[0].ends_with(
      ": topology.use.kinds[0]: found \"b0\"; expected a kind that topology.kinds describes (a0, "
      "a1, a2, a3, a4, a5, a6, a7, and 1992 more); did you mean \"a0\"?"));
  for (const std::string& line : lines) CHECK(line.size() < 300);
  CHECK(lines.back() == "f: 7000 more errors are not shown; correct the first ones");
}

TEST_CASE("ten megabytes of any text are refused unread") {
  const temporary_tree tree;
  for (const std::string& unit :
       {std::string("[", 1), std::string("a: b\n"), std::string(1, '\0'), std::string("x")}) {
    const auto file = tree.write("large.yaml", repeated(unit, 10'000'000));
    const double begun = cpu_seconds();
    forget_peak();
    const long before = memory_kib("VmRSS:");
    CHECK(
        error_lines([&] { (void)load_profile(file); }) ==
        line_list{file.string() + ":1:1: found more than 128 KiB; a profile has a few KiB, 128 KiB at most"});
    CHECK(cpu_seconds() - begun < seconds_most);
    if (memory_is_ours) CHECK(memory_kib("VmHWM:") - before < kib_most);
  }
}

TEST_CASE("an endless file is refused") {
  CHECK(error_lines([] { (void)load_profile("/dev/zero"); }) ==
        line_list{"/dev/zero:1:1: found more than 128 KiB; a profile has a few KiB, 128 KiB at most"});
}

TEST_CASE("NUL bytes and control characters are refused at their place") {
  CHECK(error_in(std::string("name: a\nname: \0b\n", 16)) == "f:2:7: found a NUL byte; a profile is text");
  CHECK(error_in("name: \x1b[31m\n") == "f:1:7: found the control character U+001B; remove it");
  CHECK(error_in("name: a\rb\n") ==
        "f:1:8: found a carriage return inside a line; end lines with LF or CR LF");
  CHECK(error_in("name: a\xEF\xBB\xBF\n") == "f:1:8: found the control character U+FEFF; remove it");
  CHECK(error_in("name: \xC2\x9B\n") == "f:1:7: found the control character U+009B; remove it");
}

TEST_CASE("bytes that are not UTF-8 are refused at their place") {
  const std::string message = "found bytes that are not UTF-8; save the file as UTF-8";
  for (const char* wrong : {"\xFF", "\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                            "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82"}) {
    CAPTURE(wrong);
    CHECK(error_in("name: é" + std::string(wrong)) == "f:1:8: " + message);
  }
  CHECK(error_in(std::string("\xFF\xFEn\0", 4)) == "f:1:1: found UTF-16; save the file as UTF-8");
  CHECK(error_in("name: é€😀\n") == "");
}

TEST_CASE("a very long text is refused at its beginning") {
  CHECK(error_in("name: " + std::string(5000, 'x') + "\n") ==
        "f:1:7: name: found 5000 bytes of text; 4096 at most");
  CHECK(error_in("topology: {capacity: {" + std::string(40, 'x') + ": 1}}\n") ==
        "f:1:23: topology.capacity." + std::string(40, 'x') + ": found a name of 40 bytes; 32 at most");
}
