// Tests of engines that share a machine by agreement: in one process, and in several. The machine is a recorded one.

#include "child_process.hpp"
#include "following.hpp"
#include "reloading.hpp"
#include "runtime/share_file.hpp"
#include "topology/recorded_host.hpp"
#include "within.hpp"

#include <corewise/engine/engine_set.hpp>
#include <corewise/topology/error.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

using namespace corewise;
using namespace corewise::tests;
using namespace std::chrono_literals;
using detail::share_file;

namespace {

/// A file that does not exist yet.
class new_file {
 public:
  const std::string& path() const { return path_; }

 private:
  temporary_tree folder_;
  std::string path_ = (folder_.root() / "shares").string();
};

profile sharing(const recorded_host& host, const std::string& file, std::uint32_t weight = 100) {
  profile p;
  p.name = "w" + std::to_string(weight);
  p.topology.machine.source = live_source{host.root()};
  p.topology.follow = {follow_setting::mode::fixed, 20ms};
  p.sharing.file = file;
  p.sharing.weight = weight;
  return p;
}

sharer one(const char* name, const char* cpus, std::uint32_t weight = 100) {
  return {name, weight, cpu_set::parse(cpus).value()};
}

/// Runs an engine with that profile in a process of its own, until the process is killed. Returns when it has its share.
pid_t daemon_with(const profile& p) {
  const signal_pipe begun;
  const pid_t child = child_that([&] {
    engine e(p);
    begun.tell();
    for (;;) ::pause();
  });
  begun.wait();
  return child;
}

void end_by(int signal, pid_t child) {
  REQUIRE(::kill(child, signal) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
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

TEST_CASE("share file: a child of a process fork keeps nothing, and takes a slot of its own") {
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
  CHECK(a.look(one("a", "0-7")).all.size() == 1); // the parent's slot is still its own
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

TEST_CASE("share file: a list of CPUs that has no room is refused with its length, and keeps no slot") {
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
    std::_Exit(::pwrite(fd, "corewise share 1\nweight 1\n", 26, 4096) == 26 ? 0 : 1);
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

TEST_CASE("share file: a slot whose text is lost is written again by its holder") {
  const new_file file;
  share_file a(file.path(), one("a", "0-7"));
  share_file b(file.path(), one("b", "0-7"));
  const pid_t vandal = child_that([&] { std::_Exit(::truncate(file.path().c_str(), 0) == 0 ? 0 : 1); });
  CHECK(exit_status(vandal) == 0);
  CHECK(a.look(one("a", "0-7")).unreadable == 1);
  CHECK(b.look(one("b", "0-7")).all.size() == 2);
  CHECK(a.look(one("a", "0-7")).all.size() == 2);
}

TEST_CASE("share file: a damaged slot that nobody holds keeps no daemon out") {
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

TEST_CASE("share file: there are 64 slots") {
  const new_file file;
  std::vector<std::unique_ptr<share_file>> all;
  for (int i = 0; i < 64; ++i) all.push_back(std::make_unique<share_file>(file.path(), one("x", "0")));
  CHECK_THROWS_AS(share_file(file.path(), one("y", "0")), topology_error);
  CHECK(all.front()->look(one("x", "0")).all.size() == 64);
  all.pop_back();
  CHECK_NOTHROW(share_file(file.path(), one("y", "0")));
}

TEST_CASE("sharing: two engines have half of the cores each, and one that is alone has all") {
  const recorded_host host(8);
  const new_file file;
  engine first(sharing(host, file.path()));
  CHECK(active_workers(first) == 8);
  const steady_load load(first);
  {
    const engine second(sharing(host, file.path(), 300));
    CHECK(active_workers(second) == 6); // from the start
    CHECK(within(10s, [&] { return active_workers(first) == 2; }));
  }
  CHECK(within(10s, [&] { return active_workers(first) == 8; }));
}

TEST_CASE("sharing: an engine that was shut down shares no more, though it is still there") {
  const new_file file;
  const recorded_host host(8);
  engine a(sharing(host, file.path()));
  engine b(sharing(host, file.path()));
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 4);
  CHECK(b.shutdown(10s).clean());
  static_cast<void>(a.refresh());
  CHECK(active_workers(a) == 8);
}

TEST_CASE("sharing: a daemon that crashes gives its share back, and a new one takes it again") {
  const recorded_host host(8);
  const new_file file;
  profile p = sharing(host, file.path());
  p.topology.follow = {}; // as profiles have it
  engine e(p);
  const steady_load load(e);
  for (const int signal : {SIGKILL, SIGUSR1}) {
    const pid_t other = daemon_with(sharing(host, file.path()));
    CHECK(within(10s, [&] { return active_workers(e) == 4; }));
    end_by(signal, other);
    const auto ended = std::chrono::steady_clock::now();
    CHECK(within(10s, [&] { return active_workers(e) == 8; }));
    MESSAGE("given back after " << std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - ended)
                                       .count()
                                << " ms");
  }
}

TEST_CASE("sharing: a weight that a profile changes holds for all") {
  const recorded_host host(8);
  const new_file file;
  profile p = sharing(host, file.path());
  engine a(p);
  engine b(p);
  const steady_load load(a);
  const steady_load other(b);
  CHECK(within(10s, [&] { return active_workers(a) == 4 && active_workers(b) == 4; }));
  p.sharing.weight = 300;
  CHECK(b.apply(p).applied());
  CHECK(within(10s, [&] { return active_workers(a) == 2 && active_workers(b) == 6; }));
}

TEST_CASE("sharing: what the host takes from one is for the other") {
  const recorded_host host(8);
  const recorded_host smaller(8);
  const new_file file;
  engine a(sharing(host, file.path()));
  engine b(sharing(smaller, file.path()));
  const steady_load load(a);
  const steady_load other(b);
  CHECK(within(10s, [&] { return active_workers(a) == 4; }));
  smaller.cpuset("6-7");
  CHECK(within(10s, [&] { return active_workers(a) == 7 && active_workers(b) == 1; }));
}

TEST_CASE("sharing: engines of a set share their own package with the engine of another daemon there") {
  const recorded_host host(8, 4);
  const new_file file;
  profile p = sharing(host, file.path());
  p.engines.per = machine_part::package;
  engine_set engines(p);
  const steady_load first(engines[0]);
  const steady_load second(engines[1]);
  profile there = sharing(host, file.path());
  there.topology.machine.use.packages = {1};
  const pid_t other = daemon_with(there);
  CHECK(within(10s, [&] { return active_workers(engines[1]) == 2; }));
  CHECK(active_workers(engines[0]) == 4);
  end_by(SIGKILL, other);
  CHECK(within(10s, [&] { return active_workers(engines[1]) == 4; }));
}

TEST_CASE("sharing: a file that has been replaced is said once, and the share stays") {
  const recorded_host host(8);
  const new_file file;
  engine a(sharing(host, file.path()));
  const engine b(sharing(host, file.path()));
  std::filesystem::remove(file.path());
  static_cast<void>(a.refresh());
  static_cast<void>(a.refresh());
  std::size_t told = 0;
  for (const std::string& w : a.warnings()) told += w.find("leads to another file now") != std::string::npos;
  CHECK(told == 1);
  CHECK(active_workers(a) == 4);
}

TEST_CASE("sharing: a described machine is shared with nobody, and says so") {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:1 core:4 pu:1"};
  const new_file file;
  p.sharing.file = file.path();
  const engine a(p);
  const engine b(p);
  CHECK(active_workers(a) == 4);
  CHECK(active_workers(b) == 4);
  const std::vector<std::string> warnings = a.warnings();
  CHECK(std::ranges::any_of(
      warnings, [](const std::string& w) { return w.find("sharing.file") != std::string::npos; }));
  CHECK_FALSE(std::filesystem::exists(file.path()));
}

TEST_CASE("sharing: engines of one process are not warned of each other") {
  const new_file file;
  profile p;
  p.topology.follow = {follow_setting::mode::fixed, 20ms};
  p.sharing.file = file.path();
  const engine one(p);
  const engine other(p);
  for (const std::string& warning : other.warnings())
    CHECK(warning.find("another engine of this process") == std::string::npos);
}

TEST_CASE("sharing: threads that are tied to no CPU share none, so the profile is refused") {
  const new_file file;
  profile p;
  p.sharing.file = file.path();
  p.workers.pin = pin_to::none;
  CHECK_THROWS_WITH_AS(engine{p}, doctest::Contains("workers.pin"), profile_error);
}

TEST_CASE("sharing: a file that cannot be used is an error at the start") {
  const recorded_host host(2);
  CHECK_THROWS_AS(engine(sharing(host, "/nowhere/at/all")), topology_error);
  profile p = sharing(host, "relative/path");
  CHECK_FALSE(check_profile(p).empty());
  p = sharing(host, "/run/shares");
  p.topology.follow.kind = follow_setting::mode::off;
  CHECK_FALSE(check_profile(p).empty());
}
