// Tests of the file by which daemons share a machine: in one process, and in several.

#include "child_process.hpp"
#include "new_file.hpp"
#include "runtime/share_file.hpp"

#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

using namespace corewise;
using namespace corewise::tests;
using detail::share_file;

namespace {

sharer one(const char* name, const char* cpus, std::uint32_t weight = 100) {
  return {name, weight, cpu_set::parse(cpus).value()};
}

} // namespace

TEST_CASE("share file: all see the same list, and one that leaves is gone") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  CHECK((std::filesystem::status(file.path()).permissions() & std::filesystem::perms::mask) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  {
    share_file b(file.path(), one("b", "0-3", 7));
    const share_file::view by_a = a.look(one("a", "0-5")); // what it is has changed
    const share_file::view by_b = b.look(one("b", "0-3", 7));
    CHECK(by_a.all == by_b.all);
    REQUIRE(by_a.all.size() == 2);
    CHECK(by_a.all[by_a.own] == one("a", "0-5"));
    CHECK(by_b.all[by_b.own] == one("b", "0-3", 7));
  }
  CHECK(a.look(one("a", "0-5")).all.size() == 1);
}

TEST_CASE("share file: another process is seen until it ends, and its text stays without meaning") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  const signal_pipe taken;
  const pid_t child = child_that([&] {
    const share_file b(file.path(), one("b", "0-7", 50));
    taken.tell();
    for (;;) ::pause();
  });
  taken.wait();
  share_file::view seen = a.look(one("a", "0-7"));
  REQUIRE(seen.all.size() == 2);
  CHECK(seen.all[1 - seen.own] == one("b", "0-7", 50));
  end_by(SIGKILL, child);
  CHECK(a.look(one("a", "0-7")).all.size() == 1);
}

TEST_CASE("share file: a child of a process fork keeps nothing, and takes an entry of its own") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  const signal_pipe taken;
  const signal_pipe end;
  const pid_t child = child_that([&] {
    {
      share_file own(file.path(), one("child", "0-7"));
      const bool both = own.look(one("child", "0-7")).all.size() == 2; // its parent is another one to it
      taken.tell();
      end.wait();
      if (!both) std::_Exit(1);
    }
    std::_Exit(0);
  });
  taken.wait();
  CHECK(a.look(one("a", "0-7")).all.size() == 2);
  end.tell();
  CHECK(exit_status(child) == 0);
  CHECK(a.look(one("a", "0-7")).all.size() == 1); // the parent's entry is still its own
}

TEST_CASE("share file: what a daemon has forked does not keep its share when it crashes") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t daemon = child_that([&] {
    const share_file b(file.path(), one("b", "0-7"));
    pid_t helper = ::fork();
    if (helper == 0) {
      ::alarm(60); // it outlives the daemon
      for (;;) ::pause();
    }
    if (::write(ends[1], &helper, sizeof helper) != sizeof helper) std::_Exit(1);
    for (;;) ::pause();
  });
  pid_t helper = 0;
  REQUIRE(::read(ends[0], &helper, sizeof helper) == sizeof helper);
  CHECK(a.look(one("a", "0-7")).all.size() == 2);
  end_by(SIGKILL, daemon);
  CHECK(a.look(one("a", "0-7")).all.size() == 1);
  CHECK(::kill(helper, SIGKILL) == 0); // it is still there
  for (const int end : ends) ::close(end);
}

TEST_CASE("share file: what cannot be a share file is refused, and nothing is changed in it") {
  const new_file file;
  std::ofstream(file.path()) << "precious";
  for (const mode_t mode : {0644U, 0600U}) { // another mode, and another file's contents
    REQUIRE(::chmod(file.path().c_str(), mode) == 0);
    CHECK_THROWS_AS(share_file(file.path(), one("a", "0")), topology_error);
  }
  std::ifstream in(file.path());
  std::string kept;
  in >> kept;
  CHECK(kept == "precious");
  CHECK_THROWS_AS(share_file("/proc/self/status", one("a", "0")), topology_error);
  CHECK_THROWS_AS(share_file("/dev/null", one("a", "0")), topology_error);
  CHECK_THROWS_AS(share_file("/nowhere/at/all", one("a", "0")), topology_error);
  const std::string link = file.path() + ".link";
  std::filesystem::create_symlink(file.path(), link);
  CHECK_THROWS_AS(share_file(link, one("a", "0")), topology_error);
}

TEST_CASE("share file: two modes are right, and no other, so that no stranger takes a share") {
  for (const mode_t mode : {0600U, 0660U, 0644U, 0640U, 0666U, 0700U, 04600U, 0400U}) {
    CAPTURE(mode);
    const new_file file;
    std::ofstream(file.path()).close();
    REQUIRE(::chmod(file.path().c_str(), mode) == 0);
    std::string why;
    try {
      static_cast<void>(share_file(file.path(), one("a", "0")));
    } catch (const topology_error& e) {
      why = e.what();
    }
    CHECK(why.empty() == (mode == 0600U || mode == 0660U));
    CHECK((why.empty() || why.find("has mode") != std::string::npos));
  }
}

TEST_CASE("share file: a list of CPUs that has no room is refused with its length, and keeps no entry") {
  const new_file file;
  cpu_set every_second;
  for (std::uint32_t cpu = 0; cpu < 2200; cpu += 2) every_second.insert(cpu);
  try {
    const share_file refused(file.path(), {"scattered", 100, every_second});
    FAIL("a list without room was taken");
  } catch (const topology_error& e) {
    CHECK_MESSAGE(std::string(e.what()).find("it takes 5") != std::string::npos, e.what());
    CHECK(std::string(e.what()).find("bytes, and 4095 is the most; give it whole cores") !=
          std::string::npos);
  }
  share_file whole(file.path(), one("whole", "0-2199"));
  CHECK(whole.look(one("whole", "0-2199")).all.size() == 1);
}

TEST_CASE("share file: a text that is damaged is left out, and counted") {
  std::string text;
  SUBCASE("so that it cannot be read") { text = "corewise share 1\nweight 1\n"; }
  SUBCASE("so that only its sum tells") { text = "corewise share 1\nweight 900\n"; }
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  const signal_pipe taken;
  const pid_t child = child_that([&] {
    const share_file b(file.path(), one("b", "0-7"));
    taken.tell();
    for (;;) ::pause();
  });
  taken.wait();
  const pid_t vandal = child_that([&] { // its own process: to close the file would give up this one's locks
    const int fd = ::open(file.path().c_str(), O_RDWR);
    std::_Exit(::pwrite(fd, text.data(), text.size(), 4096) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  });
  CHECK(exit_status(vandal) == 0);
  const share_file::view seen = a.look(one("a", "0-7"));
  CHECK(seen.all.size() == 1);
  CHECK(seen.unreadable == 1);
  end_by(SIGKILL, child);
  CHECK(a.look(one("a", "0-7")).unreadable == 0);
}

TEST_CASE("share file: a list of strides, which no sharer writes and which takes long to read, is left out") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  const signal_pipe taken;
  const pid_t child = child_that([&] {
    const share_file b(file.path(), one("b", "0-7"));
    taken.tell();
    for (;;) ::pause();
  });
  taken.wait();
  std::string text = "corewise share 1\nweight 1\ncpus 0-7:1/2\nname b\n";
  text += "sum b8e2421a\n"; // the CRC-32 of these lines
  text += '\0';
  const pid_t vandal = child_that([&] {
    const int fd = ::open(file.path().c_str(), O_RDWR);
    const auto size = static_cast<ssize_t>(text.size());
    std::_Exit(::pwrite(fd, text.data(), text.size(), 4096) == size ? 0 : 1);
  });
  CHECK(exit_status(vandal) == 0);
  CHECK(a.look(one("a", "0-7")).unreadable == 1);
  end_by(SIGKILL, child);
}

TEST_CASE("share file: an entry whose text is lost is written again by its holder") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  share_file b(file.path(), one("b", "0-7"));
  const pid_t vandal = child_that([&] { std::_Exit(::truncate(file.path().c_str(), 0) == 0 ? 0 : 1); });
  CHECK(exit_status(vandal) == 0);
  CHECK(a.look(one("a", "0-7")).unreadable == 1);
  CHECK(b.look(one("b", "0-7")).all.size() == 2);
  CHECK(a.look(one("a", "0-7")).all.size() == 2);
}

TEST_CASE("share file: a damaged entry that nobody holds keeps no daemon out") {
  const new_file file;
  auto a = std::make_unique<share_file>(file.path(), one("a", "0-7"));
  share_file b(file.path(), one("b", "0-7"));
  a.reset();
  const pid_t other = child_that([&] {
    const int fd = ::open(file.path().c_str(), O_RDWR);
    if (::pwrite(fd, "x", 1, 0) != 1) std::_Exit(1);
    ::close(fd);
    share_file c(file.path(), one("c", "0-7"));
    std::_Exit(c.look(one("c", "0-7")).all.size() == 2 ? 0 : 2);
  });
  CHECK(exit_status(other) == 0);
}

TEST_CASE("share file: that its path leads elsewhere is told") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  CHECK_FALSE(a.look(one("a", "0-7")).replaced);
  std::filesystem::rename(file.path(), file.path() + ".old");
  CHECK(a.look(one("a", "0-7")).replaced);
  share_file b(file.path(), one("b", "0-7")); // a new one
  CHECK(a.look(one("a", "0-7")).replaced);
  CHECK(a.look(one("a", "0-7")).all.size() == 1);
  CHECK(b.look(one("b", "0-7")).all.size() == 1);
}

TEST_CASE("share file: there are 64 entries") {
  const new_file file;
  std::vector<std::unique_ptr<share_file>> all;
  for (int i = 0; i < 64; ++i) all.push_back(std::make_unique<share_file>(file.path(), one("x", "0")));
  CHECK_THROWS_AS(share_file(file.path(), one("y", "0")), topology_error);
  CHECK(all.front()->look(one("x", "0")).all.size() == 64);
  all.pop_back();
  CHECK_NOTHROW(share_file(file.path(), one("y", "0")));
}
