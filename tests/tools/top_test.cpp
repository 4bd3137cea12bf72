#include "shell.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

// `corewise top --replay`. top/load.jsonl was recorded from an engine of two packages with four P-cores and four
// E-cores, in which a task got stuck after the first reading.

using namespace corewise::tests;

namespace {

const std::string load = COREWISE_RECORDED_READINGS "/load.jsonl";

outcome shown(const std::string& options, const std::string& columns = "80",
              const std::string& locale = "C") {
  return run("TZ=UTC COLUMNS=" + columns + " LC_ALL=" + locale + " corewise top " + options);
}

std::string replayed(const std::string& how, const std::string& columns = "80") {
  const outcome seen = shown("--replay - " + how + " < " + load, columns);
  CHECK_MESSAGE(seen.status == 0, seen.err);
  CHECK(seen.err.empty());
  return seen.out;
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    most = std::max(most, end - at);
    at = end + 1;
  }
  return most;
}

/// A recording of an engine with many groups: the first of the recorded ones again and again.
std::string with_groups(int count) {
  return "jq -c '.metrics.groups = [range(" + std::to_string(count) +
         ") as $g | .metrics.groups[0] | .group = $g]' " + load + " > many.jsonl";
}

} // namespace

TEST_CASE("top: a reading by itself shows what has happened since the engine began") {
  CHECK("\n" + replayed("--once") == R"(
corewise standard input (recorded)  21:43:22  since the engine began
health   ok
tasks    finished 84.1k  in flight 1  failed 0  refused 0  queued 0  timers 0
waiting  latency p50 <32us p99 <4.1ms  64 samples  normal p50 <128us p99 <2.0ms
         1264 samples
stolen   group 14.0k  domain 10.7k  node 0  package 0  beyond 3664
spares   idle 0  tasks that want one 0  exhausted 0 times
kinds    P 1024 4 workers busy - load 1  E 512 4 workers busy - load 0

group kind     workers            busy   load     run   stolen wait p50     p99
    0 P              2 ..........    -      1   36.6k    10.7k   <128us  <2.0ms
    1 E              2 ..........    -      0    3122     2177   <128us  <2.0ms
    2 P              2 ..........    -      0   39.5k    12.1k    <64us  <2.0ms
    3 E              2 ..........    -      0    4932     3290   <128us  <2.0ms
)");
}

TEST_CASE("top: two readings show what has happened between them") {
  const std::string both = replayed("--count 2");
  CHECK(both.substr(both.find("\n\ncorewise ")) == R"(

corewise standard input (recorded)  21:43:25  the last 2.4 s
health   degraded
         1 of 8 workers run tasks that do not end (`blocking.stuck_after`)
tasks    finished 13.5k/s  in flight 13  failed 0/s  refused 0/s  queued 0
         latency queued 2  timers 0
waiting  latency p50 <128us p99 <16ms  31 samples  normal p50 <128us p99 <16ms
         483 samples
stolen   group 2479/s  domain 2907/s  node 0/s  package 0/s  beyond 969/s
spares   idle 0  tasks that want one 0  exhausted 0 times
kinds    P 1024 4 workers busy 46% load 10  E 512 4 workers busy 13% load 2

group kind     workers            busy   load   run/s stolen/s wait p50     p99
    0 P              2 ######....  65%      3    2934      840   <128us  <4.1ms
    1 E              2 ##........  18%      0    4026     2836   <256us   <16ms
    2 P              2 ###.......  27%      7    5691     2069   <128us   <16ms
    3 E              2 #.........   8%      2     896      611   <256us   <16ms
stuck    worker 1 of group 0  2.6s  <script> ???????????? ??????
)");
}

TEST_CASE("top: a wide screen has the steals of each group by level, a narrow one has less, and no line is "
          "longer") {
  const std::string wide = replayed("--count 2", "150");
  CHECK(contains(wide, "stolen/s group  domain    node package  beyond"));
  CHECK(contains(
      wide, "    2 P              2 ##########.............................  27%      7    5691           "
            "1123     626       0       0     321   <128us   <16ms\n"));
  for (const char* columns : {"150", "80", "60", "42", "30", "20", "9", "1"})
    CHECK(widest(replayed("", columns)) <= std::stoul(columns));
  const std::string narrow = replayed("--count 2", "42");
  CHECK(contains(narrow, "\n    2 ##.....  27%      7    5691   <16ms\n"));
  CHECK(contains(narrow,
                 "\n         1 of 8 workers run tasks that do\n         not end (`blocking.stuck_after`)\n"));
}

TEST_CASE("top: colours and blocks where they can be shown") {
  const std::string how = "--replay " + load + " --count 2";
  CHECK(!contains(shown(how, "80", "C.UTF-8").out, "\033"));
  CHECK(contains(shown(how, "80", "C.UTF-8").out, "███░░░"));
  CHECK(contains(shown(how, "80", "C.UTF-8").out, "<script> запрос 日本\n"));
  const std::string coloured = shown(how + " --color always").out;
  CHECK(contains(coloured, "\033[33m######\033[0m\033[2m....\033[0m  \033[33m65%\033[0m"));
  CHECK(contains(coloured, "\033[1;31m2.6s\033[0m  <script>"));
}

TEST_CASE("top: counts that begin anew are said, and are those since then") {
  const outcome seen = run("(sed -n 3p " + load + "; sed -n 1p " + load +
                           " | jq -c '.at_seconds += 10') | corewise top --replay -");
  CHECK(seen.status == 0);
  CHECK(contains(seen.out,
                 "since the engine began\nthe engine has restarted\nhealth   ok\ntasks    finished 84.1k"));
  CHECK(!contains(seen.out, "/s"));
  const outcome other = run("(sed -n 1p " + load + "; sed -n 2p " + load +
                            " | jq -c 'del(.metrics.groups[3])') | corewise top --replay -");
  CHECK(contains(other.out, "the engine has restarted"));
}

TEST_CASE(
    "top: stuck tasks have no names at a read-only address, and control characters in names are not obeyed") {
  const std::string nameless = run("jq -c '.stuck = null' " + load + " | corewise top --replay -").out;
  CHECK(contains(nameless, "stuck    1 worker  the control socket has the names of the tasks\n"));
  CHECK(!contains(nameless, "script"));
  const std::string hostile = run("jq -c '.stuck[].task_name = \"\\u001b[2Jgone\\nnext\\u009b1m\"' " + load +
                                  " | LC_ALL=C.UTF-8 corewise top --replay -")
                                  .out;
  CHECK(contains(hostile, "2.6s  ?[2Jgone?next?1m\n"));
  const std::string unnamed =
      run("jq -c '.stuck[].task_name = null' " + load + " | corewise top --replay -").out;
  CHECK(contains(unnamed, "2.6s  main::{lambda()#3}\n"));
}

TEST_CASE("top: an engine with quotas, refused tasks and without spare threads") {
  const std::string seen =
      run("jq -c 'if .stuck == [] then . else .metrics.cpu_quota = 1.5 | .metrics.cpu_throttled_seconds = "
          "1.2 | "
          ".metrics.tasks_refused.in_flight = 2370 | .metrics.spares_exhausted = 3 | "
          ".metrics.tasks_waiting_for_a_seat = 7 | .metrics.health = {ok: 0, wedged: 1} end' " +
          load + " | head -2 | corewise top --replay -")
          .out;
  CHECK(contains(seen, "health   wedged  1 of 8 workers"));
  CHECK(contains(seen, "refused 980/s"));
  CHECK(contains(seen, "tasks that want one 7  exhausted 3 times  quota 1.5 CPUs  throttled 50%\n"));
}

TEST_CASE("top: a machine that has changed") {
  CHECK(!contains(run("corewise top --once --replay " + load).out, "machine"));
  const std::string seen =
      run("jq -c '.metrics.machine_changes = 2 | .metrics.last_machine_change = \"quota 2 CPUs, before "
          "none; 2 workers take tasks, before 8\"' " +
          load + " | corewise top --once --replay -")
          .out;
  CHECK(contains(seen, "machine  changes 2  quota 2 CPUs, before none; 2 workers take tasks, before 8\n"));
}

TEST_CASE("top: what is no recording is refused, with its place") {
  const auto refused = [](const std::string& make, const std::string& why) {
    const outcome bad = run("{ " + make + "; } > file; corewise top --replay file");
    CAPTURE(make);
    CHECK(bad.status == 1);
    CHECK_MESSAGE(contains(bad.err, why), bad.err);
  };
  refused("true", "file (recorded): there are no readings");
  refused("echo nonsense", "file:1: this is no reading in JSON");
  refused("echo '[1, 2]'", "file:1: this is no reading in JSON");
  refused("echo '{}'", "file:1: `health` is missing");
  refused("head -c 5000 " + load, "file:1: this is no reading in JSON");
  refused("cat " + load + "; head -1 " + load, "file:4: this reading is not later");
  const std::string change = "jq -c '";
  const std::string in = "' " + load;
  refused(change + ".at_seconds = -1" + in, "file:1: `at_seconds` is no time");
  refused(change + ".metrics.tasks_finished = -1" + in, "file:1: `tasks_finished` is no count");
  refused(change + ".metrics.tasks_finished = 1e30" + in, "file:1: `tasks_finished` is no count");
  refused(change + ".metrics.groups = 3" + in, "file:1: `groups` is no list");
  refused(change + ".metrics.groups[1].busy_seconds = \"x\"" + in, "file:1: `busy_seconds` is no number");
  refused(change + "del(.metrics.groups[1].task_wait_seconds.normal.counts[3])" + in,
          "has not a count for each bound");
  refused(change + ".stuck[].worker = null" + in, "file:2: `worker` is no count");
  CHECK(contains(run("corewise top --replay .").err, "Is a directory"));
  CHECK(contains(run("corewise top --replay nowhere").err, "nowhere: No such file"));
}

TEST_CASE("top: on a terminal the picture stays in its place, fits, and leaves the terminal as it was") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  scratch_shell shell;
  REQUIRE(shell.run(with_groups(64)).status == 0);
  const auto drawn = [&](const std::string& size, const std::string& around = "") {
    return shell.run(
        "TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=1 script -qec 'stty " + size + "; " + around +
        " corewise top --replay many.jsonl --interval 300ms --count 2; stty -a; echo status $?' /dev/null");
  };
  const std::string seen = drawn("rows 24 cols 80").out;
  const std::size_t begin = seen.find("\033[?1049h");
  const std::size_t end = seen.rfind("\033[?1049l");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  CHECK(contains(seen.substr(end), " icanon "));
  CHECK(contains(seen.substr(end), " echo "));
  CHECK(contains(seen.substr(end), "status 0"));
  const std::size_t last = seen.rfind("\033[H");
  CHECK(last > begin);
  const std::string picture = seen.substr(last, end - last);
  CHECK(count_of("\r\n", picture) == 23);
  CHECK(contains(picture, "\r\n    9 P              2 ██████░░░░"));
  CHECK(contains(picture, "\r\n  +54              108 ██████░░░░"));
  CHECK(contains(picture, "\r\nstuck    worker 1 of group 0"));
  CHECK(count_of("\r\n", drawn("rows 6 cols 40").out.substr(0, last)) >= 5);

  // A signal gives the terminal back, and still ends the command.
  const std::string ended = drawn("rows 24 cols 80", "timeout --foreground -s INT .5").out;
  CHECK(contains(ended, "\033[?1049l"));
  CHECK(contains(ended.substr(ended.rfind("\033[?1049l")), " icanon "));
}

TEST_CASE("top: keys that are typed quickly are all taken, in their order, and unknown ones are left out") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  scratch_shell shell;
  REQUIRE(shell.run(with_groups(64)).status == 0);
  const auto typed = [&](const std::string& keys) {
    return shell.run("printf '" + keys +
                     "' | TERM=xterm LC_ALL=C.UTF-8 NO_COLOR=1 timeout 60 script -qec 'stty rows 24 cols 80; "
                     "corewise top --replay many.jsonl --interval 60min; echo status $?' /dev/null");
  };
  // Down, right, down, a key of the keypad, Esc, down, an unknown letter, up.
  for (const std::string keys : {"jjq", "\\033[B\\033[Cj\\033Ok\\033\\033[BXkq", "kkkj\\033[1;5Agjjq"}) {
    const outcome seen = typed(keys);
    CAPTURE(keys);
    CHECK(contains(seen.out, "status 0"));
    const std::size_t last = seen.out.rfind("\033[H");
    REQUIRE(last != std::string::npos);
    const std::string picture = seen.out.substr(last);
    const std::size_t head = picture.find("\r\ngroup kind ");
    REQUIRE(head != std::string::npos);
    CHECK(picture.substr(picture.find("\r\n", head + 2)).starts_with("\r\n    2 P "));
  }
  // They are drawn at once, and beyond the end of the list keys have no effect.
  const outcome many = typed(std::string(200, 'j') + std::string(2, 'k') + "q");
  CHECK(contains(many.out, "status 0"));
  CHECK(count_of("\033[H", many.out) < 20);
  CHECK(contains(many.out.substr(many.out.rfind("\033[H")), "\r\n   61 P "));
  CHECK_FALSE(contains(many.out.substr(many.out.rfind("\033[H")), "\r\n   62 P "));
}

TEST_CASE("top: a command line that makes no sense") {
  for (const std::string line :
       {"", "--replay a --connect b", "--replay a --record b", "--connect a --interval 1ms",
        "--connect a --interval 5", "--connect a --count 0", "--connect a --once --count 2",
        "--connect a --color pink", "--connect"}) {
    CAPTURE(line);
    const outcome wrong = run("corewise top " + line);
    CHECK(wrong.status == 2);
    CHECK(wrong.out.empty());
    CHECK(contains(wrong.err, "corewise top --help"));
  }
}
