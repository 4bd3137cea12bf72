# The code that the stages of ./test share. Source it; the working folder is then the repository's.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
results=${COREWISE_RESULTS:-/dev/stdout}
jobs=$(nproc)

passed() { echo "passed ${1:-1}" >>"$results"; }
failed() {
  echo "FAILED $*"
  echo "failed 1" >>"$results"
}
skipped() {
  echo "skipped: $*"
  echo "skipped 1" >>"$results"
}

# check WHAT COMMAND...: passes when the command does; shows the command's output when it does not.
check() {
  local output what=$1
  shift
  if output=$("$@" 2>&1); then
    passed
  else
    printf '%s\n' "$output"
    failed "$what"
    return 1
  fi
}

# The project's own files of these kinds, tracked or about to be; NUL-separated.
own_files() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

# count LOG STATUS: counts a script's lines that begin with "ok" and "FAILED". A script that ended with STATUS other than 0 and
# named no failure has failed itself.
count() {
  local good bad
  read -r good bad < <(awk '$1 == "ok" { n++ } $1 == "FAILED" { m++ } END { print n + 0, m + 0 }' "$1")
  echo "passed $good" >>"$results"
  ((bad == 0)) || echo "failed $bad" >>"$results"
  if ((good + bad == 0 || (bad == 0 && $2 != 0))); then failed "$1: the script broke off with status $2"; fi
}

# build PRESET [TARGET...]: configures and builds; shows the compiler's output when it fails. examples=ON: asan-ubsan has the
# examples, too.
build() {
  local preset=$1 log=build/$1.log started=$SECONDS unity=ON all=OFF options=()
  shift
  # Source by source, each shows that it includes what it needs. Otherwise clang-tidy's analyzer sees that.
  if [[ $preset == gcc && -n ${COREWISE_LONG:-} ]]; then unity=OFF; fi
  if [[ -n ${COREWISE_LONG:-} ]]; then all=ON; fi
  case $preset in
    # The stage tsan runs the engine with delays; it, too, sees what is used after its end. The stage clang compiles
    # the simulator and the command, and fuzzing runs what reads profiles and machines.
    gcc) options=(-DCOREWISE_TEST_FAULTS="$all" -DCOREWISE_BENCH_ALL="$all") ;;
    asan-ubsan)
      options=(-DCOREWISE_TEST_FAULTS="$all" -DCOREWISE_BUILD_TOOLS="$all" -DCOREWISE_BUILD_EXAMPLES="${examples:-$all}" -DCOREWISE_TEST_ALL="$all")
      ;;
    arm64) options=(-DCOREWISE_TEST_FAULTS="$all" -DCOREWISE_BUILD_TOOLS="$all" -DCOREWISE_TEST_ALL="$all") ;;
  esac
  if ! { cmake --preset "$preset" -DCOREWISE_LONG="${COREWISE_LONG:-OFF}" -DCOREWISE_UNITY="$unity" "${options[@]}" &&
    cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}; } >"$log" 2>&1; then
    grep -B2 -A20 -E 'error|FAILED|Error' "$log" | head -n 200 || tail -n 50 "$log"
    failed "the build of $preset (all of it: $log)"
    return 1
  fi
  echo "built in $((SECONDS - started)) s"
}

# run_tests PRESET [CTEST-ARGUMENT...]: runs the test cases of a build and counts them.
run_tests() {
  local preset=$1 report=$PWD/build/$1.junit.xml log=build/$1.ctest.log status=0 head counts
  shift
  rm -f "$report"
  # Every third second or so of a test is spent asleep.
  ctest --test-dir "build/$preset" --parallel "$((jobs + (jobs + 1) / 2))" --output-on-failure --no-tests=error \
    --output-junit "$report" "$@" >"$log" 2>&1 || status=$?
  [[ -s $report ]] || { tail -n 30 "$log"; failed "$preset: ctest made no report"; return 1; }

  head=$(grep -A6 -m1 '<testsuite' "$report" | tr '\n' ' ')
  counts=$(for what in tests failures skipped disabled; do
    sed -nE "s/.*[[:space:]]$what=\"([0-9]+)\".*/\1/p" <<<"$head"
  done | xargs)
  local all bad skips disabled
  read -r all bad skips disabled <<<"$counts"
  passed $((all - bad - skips - disabled))
  echo "$((all - bad - skips - disabled)) of $all test cases passed"
  # ctest prints the output of skipped tests only in the report.
  grep -oE '(^|MESSAGE: |>)skipped: .*' "$report" | sed 's/.*skipped: /skipped: /' | sort | uniq -c || true
  ((skips + disabled == 0)) || echo "skipped $((skips + disabled))" >>"$results"
  if ((bad > 0 || status != 0)); then
    awk '/^ *[0-9]+\/[0-9]+ Test +#/ { shown = /\*\*\*(Failed|Timeout|Exception|Not Run)|Subprocess/ }
      shown && !/^ +Start /' "$log" | head -n 400
    echo "FAILED $preset: all of it is in $log"
    echo "failed $((bad > 0 ? bad : 1))" >>"$results"
    return 1
  fi
}
