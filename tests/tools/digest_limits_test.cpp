#include "shell.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

using namespace corewise::tests;

// Memory, descriptors and depth: these must not grow with the tree.

namespace {

/// As much address space as a small container may have memory.
const std::string in_512_mib = "ulimit -v $((512 * 1024)); ";

bool skip_for_sanitizer() {
  if (sanitized()) MESSAGE("skipped: a sanitizer needs more address space than this test allows");
  return sanitized();
}

/// Makes directories in each other, `depth` deep, with a file in each and in every third one a directory
/// aside.
void make_chain(const std::filesystem::path& where, int depth) {
  const auto make_file = [](int directory) {
    ::close(::openat(directory, "file", O_CREAT | O_WRONLY, 0644));
  };
  const auto make_directory = [](int inside, const char* name) {
    ::mkdirat(inside, name, 0755);
    return ::openat(inside, name, O_RDONLY | O_DIRECTORY);
  };
  int at = make_directory(AT_FDCWD, (where / "chain").c_str());
  for (int i = 0; i < depth; ++i) {
    make_file(at);
    if (i % 3 == 0) {
      const int aside = make_directory(at, "aside");
      make_file(aside);
      ::close(aside);
    }
    const int below = make_directory(at, "below");
    ::close(std::exchange(at, below));
  }
  ::close(at);
}

} // namespace

TEST_CASE("a sparse file that is larger than the allowed memory is digested") {
  if (skip_for_sanitizer()) return;
  const outcome sparse = run("truncate -s 1G sparse; " + in_512_mib + "corewise run digest sparse");
  CHECK_MESSAGE(sparse.status == 0, sparse.err);
  CHECK(sparse.out == "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14  sparse\n");
}

TEST_CASE("several large files at once fit into little memory with many workers") {
  if (skip_for_sanitizer()) return;
  const outcome many = run("mkdir tree; for i in {1..40}; do truncate -s 20M tree/$i; done; " + in_512_mib +
                           "corewise run digest --workers 64 tree | cut -c-64 | uniq -c | tr -s ' '");
  CHECK_MESSAGE(many.status == 0, many.err);
  CHECK(many.out.starts_with(" 40 "));
}

TEST_CASE("a directory of 100,000 files fits into little memory") {
  if (skip_for_sanitizer()) return;
  const outcome many = run("mkdir tree; cd tree; seq 100000 | xargs -n 5000 touch; cd ..; " + in_512_mib +
                           "corewise run digest tree | wc -l");
  CHECK_MESSAGE(many.status == 0, many.err);
  CHECK(many.out == "100000\n");
}

TEST_CASE("a tree that is far deeper than the longest path is walked with few descriptors") {
  scratch_shell shell;
  make_chain(shell.directory() / "work", 3000);
  const outcome walked = shell.run(R"(ulimit -n 60; corewise run digest chain > ../got || exit 10
    find chain -type f | sort > ../want; cut -c67- ../got | sort | cmp - ../want || exit 11
    wc -l < ../want)");
  CHECK_MESSAGE(walked.status == 0, walked.err);
  CHECK(walked.out == "4000\n");
}

TEST_CASE("many directories with one file each are read with few descriptors") {
  const outcome walked =
      run(R"(mkdir tree; cd tree; seq 2000 | xargs mkdir; for i in {1..2000}; do echo $i > $i/f; done; cd ..
    ulimit -n 40; corewise run digest tree | wc -l)");
  CHECK_MESSAGE(walked.status == 0, walked.err);
  CHECK(walked.out == "2000\n");
}
