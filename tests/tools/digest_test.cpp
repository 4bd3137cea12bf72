#include "shell.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace corewise::tests;

namespace {

/// Compares with find and sha256sum over DIR, which the script has named.
const std::string compare = R"(
  corewise run digest -- "$DIR" > ../got || exit 10
  find "$DIR" -type f -print0 | xargs -0 -r sha256sum -- | sort > ../want
  sort ../got | diff - ../want || exit 11
  wc -l < ../want
)";

/// Names that have misled programs, each for a file and for a directory with an empty file of that name.
const std::string nasty_tree = R"sh(
  mkdir nasty; cd nasty
  for name in plain 'two words' $'new\nline' $'\n' 'back\slash' '\' $'return\r' $'\r\n' -dash --help -- $'tab\t' \
              $'\xff\xfe' 'quo"te' "quo'te" '$(x)`y`' '*?[z]' .hidden ' lead' 'trail ' '%s%n' $'\x01\e[31m' \
              "$(printf 'n%.0s' {1..255})"; do
    printf '%s' "$name" > "./$name"
    mkdir "./d${name:0:200}" && : > "./d${name:0:200}/$name"
  done
  cd ..
)sh";

bool is_root() { return ::geteuid() == 0; }

/// Runs the rest of the line as a user that may not read everything.
const std::string as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";

} // namespace

TEST_CASE("digest prints what sha256sum prints for the most misleading names") {
  const outcome same = run(nasty_tree + "DIR=nasty" + compare);
  CHECK_MESSAGE(same.status == 0, same.out, same.err);
  CHECK(same.out == "46\n");
}

TEST_CASE("digest names files as find does, for each spelling of a directory") {
  for (const std::string dir :
       {"tree", "tree/", "tree//", "./tree", ".", "../work/tree", "\"$PWD/tree\"", "-tree", "./-tree"}) {
    CAPTURE(dir);
    const std::string find_takes =
        dir == "-tree" ? "corewise run digest -- -tree | cut -c67- | sed 's/^/x/' && exit" : "";
    const outcome same =
        run("mkdir -p tree/sub -- -tree/sub; echo 1 > tree/a; echo 2 > tree/sub/b; echo 3 > ./-tree/c\n" +
            find_takes + "\nDIR=" + dir + compare);
    CHECK_MESSAGE(same.status == 0, same.out, same.err);
    if (dir == "-tree") CHECK(same.out == "x-tree/c\n");
  }
}

TEST_CASE("digest of files of all sizes around a chunk is right") {
  const outcome same = run(R"(mkdir sizes
    for size in 0 1 63 64 65 4095 4096 524287 524288 524289 1048576 3145735; do
      head -c $size /dev/urandom > sizes/$size
    done
    for i in {1..700}; do : > sizes/empty$i; echo $i > sizes/small$i; done
    DIR=sizes)" + compare);
  CHECK_MESSAGE(same.status == 0, same.out, same.err);
  CHECK(same.out == "1412\n");
}

TEST_CASE("digest treats a file as a tree of one file") {
  const outcome same = run("echo text > file; DIR=file" + compare);
  CHECK_MESSAGE(same.status == 0, same.out, same.err);
  CHECK(same.out == "1\n");
}

TEST_CASE("digest follows no symbolic link and leaves special files alone") {
  const outcome same = run(R"(mkdir -p tree outside; echo in > tree/file; echo out > outside/file
    ln -s ../outside tree/dirlink; ln -s ../outside/file tree/filelink; ln -s nowhere tree/broken; ln -s . tree/loop
    mkfifo tree/pipe
    DIR=tree)" + compare);
  CHECK_MESSAGE(same.status == 0, same.out, same.err);
  CHECK(same.out == "1\n");
}

TEST_CASE("digest does not follow a link as its argument, and says so") {
  const outcome link = run("mkdir tree; echo 1 > tree/a; ln -s tree link; corewise run digest link");
  CHECK(link.status == 0);
  CHECK(link.out.empty());
  CHECK(contains(link.err, "corewise: link: is a symbolic link"));
  const outcome behind = run("mkdir tree; echo 1 > tree/a; ln -s tree link; DIR=link/" + compare);
  CHECK_MESSAGE(behind.status == 0, behind.out, behind.err);
  CHECK(behind.out == "1\n");
}

TEST_CASE("a directory that is not there is an error") {
  const outcome missing = run("corewise run digest nowhere");
  CHECK(missing.status == 1);
  CHECK(missing.out.empty());
  CHECK(missing.err == "corewise: nowhere: No such file or directory\n");
}

TEST_CASE("files that cannot be read are named, and the others are digested") {
  const std::string somebody = is_root() ? as_nobody : "";
  if (is_root() && run(as_nobody + "corewise --version").status != 0) {
    MESSAGE("skipped: nobody may not run the command where it was built");
    return;
  }
  const outcome partly = run(R"(umask 022; chmod 755 ..; mkdir -p tree/closed tree/listed; echo 1 > tree/a
    echo 2 > tree/secret; echo 3 > tree/closed/b; echo 4 > tree/listed/c; echo 5 > $'tree/new\nline'
    chmod 000 tree/secret tree/closed $'tree/new\nline'; chmod 744 tree/listed
    )" + somebody + R"(corewise run digest tree; status=$?; chmod -R u+rwx tree; exit $status)");
  CHECK(partly.status == 1);
  CHECK(partly.out == run("mkdir tree; echo 1 > tree/a; sha256sum tree/a").out);
  CHECK(contains(partly.err, "corewise: tree/secret: Permission denied\n"));
  CHECK(contains(partly.err, "corewise: tree/closed: Permission denied\n"));
  CHECK(contains(partly.err, "corewise: tree/new\\nline: Permission denied\n"));
  if (is_root()) CHECK(contains(partly.err, "corewise: tree/listed/c: Permission denied\n"));
}

TEST_CASE("files that come and go meanwhile do not disturb the others") {
  const outcome busy = run(R"(mkdir tree; for i in {1..500}; do echo $i > tree/stays$i; done
    (for round in {1..2000}; do for i in {1..50}; do echo > tree/goes$i; done; rm -f tree/goes*; done) & churn=$!
    trap 'kill $churn; wait 2> /dev/null' EXIT
    for round in {1..10}; do
      corewise run digest tree > ../got 2> ../troubles; [ $? -le 1 ] || exit 10
      [ $(grep -c /stays ../got) = 500 ] || exit 11
      grep -v 'No such file' ../troubles && exit 12
    done
    exit 0)");
  CHECK_MESSAGE(busy.status == 0, busy.out, busy.err);
}

TEST_CASE("lines are whole when the reader of the output is slow") {
  const outcome slow =
      run(R"(mkdir tree; for i in {1..3000}; do echo $i > tree/a-rather-long-name-of-a-file-$i; done
    corewise run digest tree | (sleep 0.5; cat) | sort > ../got
    find tree -type f -print0 | xargs -0 sha256sum | sort | cmp - ../got)");
  CHECK_MESSAGE(slow.status == 0, slow.out, slow.err);
}

TEST_CASE("an output that accepts no more text ends the work with exit status 1") {
  const std::string tree = "mkdir tree; for i in {1..3000}; do echo $i > tree/$i; done; ";
  const outcome full = run(tree + "corewise run digest tree > /dev/full");
  CHECK(full.status == 1);
  CHECK(contains(full.err, "corewise: standard output: No space left on device"));
  const outcome broken = run(tree + "corewise run digest tree | true; exit ${PIPESTATUS[0]}");
  CHECK(broken.status == 1);
}

TEST_CASE("a report that is lost is an error") {
  const scratch_shell shell;
  shell.write("file", "text");
  for (const std::string format : {"text", "json"})
    for (const std::string to : {"2>/dev/full", "2>&-"}) {
      const outcome lost = shell.run("corewise run digest --report --format " + format + " file " + to);
      CHECK(lost.status == 1);
      CHECK(lost.out == shell.run("sha256sum file").out);
    }
}

TEST_CASE("sha256sum itself accepts the output") {
  CHECK(run(nasty_tree + "corewise run digest nasty | sha256sum --check --quiet").status == 0);
}

TEST_CASE("--report shows on standard error the workers on which the tasks ran") {
  const std::string tree = "mkdir tree; for i in {1..300}; do echo $i > tree/$i; done; ";
  const outcome reported = run(tree + "corewise run digest --report --workers 3 tree");
  CHECK(reported.status == 0);
  CHECK(count_of("\n", reported.out) == 300);
  CHECK(contains(reported.err, "300 files, "));
  for (const std::string part : {"placed", "run", "blocked", "stolen", "parked", "busy", "group 0",
                                 "worker 0", "worker 1", "worker 2"})
    CHECK_MESSAGE(contains(reported.err, part), part, " in\n", reported.err);
  const outcome in_json = run(tree + "corewise run digest --report --format json tree");
  CHECK_FALSE(nlohmann::json::parse(in_json.err, nullptr, false).is_discarded());
}

TEST_CASE("a progress line is shown on a terminal only") {
  if (run("script -qec true /dev/null").status != 0) {
    MESSAGE("skipped: there is no script(1) to make a terminal");
    return;
  }
  const std::string big = "truncate -s 1G big; ";
  const outcome shown = run(big + "script -qec 'corewise run digest big > /dev/null' /dev/null");
  CHECK(shown.status == 0);
  CHECK(contains(shown.out, " files, "));
  CHECK(contains(shown.out, "\r\033[K"));
  CHECK(run("truncate -s 200M big; corewise run digest big").err.empty());
}
