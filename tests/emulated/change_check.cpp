// Changes the machine under an engine that works, and checks that the engine follows, and that no task is lost: processors
// that go and come, a quota, a cpuset partition, a hog of real-time priority, a memory node that is full. Run it as root in
// a guest of run_on with two memory nodes of four processors; with the word "memory" in one where a node's memory can be
// taken away. The name of another check runs that alone.
#include "engine_at_work.hpp"
#include "memory/node_resource.hpp"

#include <corewise/topology/binding.hpp>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace corewise::emulated {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

const fs::path cgroups = "/sys/fs/cgroup";

void write_to(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  if (!(out << text << std::flush)) throw std::runtime_error("cannot write " + text + " to " + file.string());
}

void set_online(std::uint32_t cpu, bool online) {
  write_to("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online", online ? "1" : "0");
}

/// The process in a control group of its own, which cannot be left.
void enter_own_group(const fs::path& group) {
  fs::create_directory(group);
  write_to(group / "cgroup.procs", std::to_string(::getpid()));
}

const cpu_set all = cpu_set::parse("0-7").value();
const cpu_set first_node = cpu_set::parse("0-3").value();

void check_unplugging(verdict& v) {
  engine_at_work e("a processor goes", v);
  e.comes_to("before", all);
  set_online(5, false);
  e.comes_to("without it", cpu_set::parse("0-4,6-7").value());
  set_online(5, true);
  e.comes_to("with it again", all);
}

void check_losing_a_node(verdict& v) {
  engine_at_work e("all processors of a node go", v);
  for (std::uint32_t cpu = 4; cpu < 8; ++cpu) set_online(cpu, false);
  e.comes_to("without them", first_node);
  for (std::uint32_t cpu = 4; cpu < 8; ++cpu) set_online(cpu, true);
  e.comes_to("with them again", all);
}

void check_quota(verdict& v) {
  const fs::path group = cgroups / "engine";
  enter_own_group(group);
  engine_at_work e("a quota of version 2", v);
  write_to(group / "cpu.max", "250000 100000");
  e.comes_to("of 2.5 processors", 3);
  write_to(group / "cpu.max", "max");
  e.comes_to("lifted", all);
}

/// Removes what earlier processes have left: a partition shares its processors with no other group.
void remove_empty_groups() {
  for (const fs::directory_entry& entry : fs::directory_iterator(cgroups)) {
    std::error_code in_use;
    if (entry.is_directory()) fs::remove(entry, in_use);
  }
}

std::string text_of(const fs::path& file) {
  std::string text;
  std::getline(std::ifstream(file) >> std::ws, text);
  return text;
}

void check_partition(verdict& v) {
  remove_empty_groups();
  enter_own_group(cgroups / "shrunk");
  const fs::path other = cgroups / "other";
  fs::create_directory(other);
  engine_at_work e("a partition takes a node's processors", v);
  write_to(other / "cpuset.cpus", "4-7");
  write_to(other / "cpuset.cpus.partition", "root");
  e.holds("the partition", text_of(other / "cpuset.cpus.partition"), "root");
  e.comes_to("without them", first_node);
  write_to(other / "cpuset.cpus.partition", "member");
  e.comes_to("with them again", all);
}

void set_clock_forward(std::chrono::seconds by) {
  timespec now{};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) throw std::runtime_error("no clock");
  now.tv_sec += by.count();
  if (::clock_settime(CLOCK_REALTIME, &now) != 0) throw std::runtime_error("the clock cannot be set");
}

void check_clock_jumps(verdict& v) {
  engine_at_work e("the clock of the day jumps", v);
  for (const std::chrono::seconds by : {3600s, -7200s, 3600s * 24 * 365 * 20}) {
    set_clock_forward(by);
    e.comes_to("by " + std::to_string(by.count()) + " s", all);
    const auto slept = std::make_shared<std::atomic<bool>>(false);
    static_cast<void>(e.running().submit([](std::shared_ptr<std::atomic<bool>> over) -> task<void> {
      co_await sleep_for(20ms);
      *over = true;
    }(slept)));
    e.holds("a sleep after it", within(patience, [&] { return slept->load(); }) ? "ends" : "does not end",
            "ends");
  }
  e.holds("stuck", std::to_string(e.running().metrics().total().stuck), "0");
}

/// A child that says when it is `ready`, and then goes on until it is ended with this object.
class companion {
 public:
  explicit companion(const std::function<void(const std::function<void()>& ready)>& does) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      does([&] { static_cast<void>(!::write(ends[1], "", 1)); });
      std::_Exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    const bool ready = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
    if (!ready) throw std::runtime_error("a companion ended early");
  }
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  ~companion() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

void check_hog(verdict& v) {
  const companion hog([](const std::function<void()>& ready) {
    cpu_set_t second;
    CPU_ZERO(&second);
    CPU_SET(1, &second);
    const sched_param priority{.sched_priority = 10};
    if (::sched_setaffinity(0, sizeof second, &second) != 0 ||
        ::sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
      return;
    ready();
    for (;; std::this_thread::sleep_for(10ms))
      for (const auto until = std::chrono::steady_clock::now() + 10ms;
           std::chrono::steady_clock::now() < until;) {
      }
  });
  engine_at_work e("a hog of real-time priority", v);
  for (const auto end = std::chrono::steady_clock::now() + 1s; std::chrono::steady_clock::now() < end;)
    e.comes_to("beside it", all);
  e.holds("stuck", std::to_string(e.running().metrics().total().stuck), "0");
}

/// Fills a memory node with pages of this process, until a page comes from elsewhere. Returns whether it came to that.
bool fill_node(std::uint32_t node) {
  constexpr std::size_t step = 2 << 20;
  const unsigned long mask = 1UL << node;
  for (int i = 0; i < 1000; ++i) {
    void* const pages = ::mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || ::syscall(SYS_mbind, pages, step, MPOL_PREFERRED, &mask, 64, 0) != 0)
      return false;
    auto* const bytes = static_cast<volatile char*>(pages);
    for (std::size_t at = 0; at < step; at += 4096) bytes[at] = 1;
    if (node_of_page(static_cast<char*>(pages) + step - 4096) != node) return true;
  }
  return false;
}

void check_full_node(verdict& v) {
  const companion filler([](const std::function<void()>& ready) {
    if (!fill_node(1)) return;
    ready();
    for (;;) ::pause();
  });
  engine_at_work e("a memory node is full", v);
  e.comes_to("with it", all);
  const group_id last = e.running().groups().groups().back().id;
  constexpr std::size_t size = 32 << 20;
  std::pmr::memory_resource& near = e.running().memory(last);
  auto* const bytes = static_cast<char*>(near.allocate(size));
  for (std::size_t at = 0; at < size; at += 4096) bytes[at] = 1;
  e.holds("memory for its group", node_of_page(bytes + size - 4096) == 0U ? "from the other node" : "from it",
          "from the other node");
  near.deallocate(bytes, size);
  for (const std::string& w : e.running().warnings()) e.holds("warning", w, "none");
}

void set_module(const std::string& state) {
  for (const fs::directory_entry& entry : fs::directory_iterator("/sys/devices/system/node/node1"))
    if (entry.path().filename().string().starts_with("memory")) write_to(entry.path() / "state", state);
}

/// Returns on which node the last byte lies of memory that this thread writes to.
std::string node_of_written(char* bytes, std::size_t size) {
  std::fill_n(bytes, size, 'x');
  return std::to_string(node_of_page(bytes + size - 1).value_or(~0U));
}

/// Returns the node that the calling thread prefers.
std::string preferred_node() {
  int mode = 0;
  unsigned long nodes = 0;
  if (::syscall(SYS_get_mempolicy, &mode, &nodes, 64, nullptr, 0) != 0 || mode != MPOL_PREFERRED)
    return "none";
  return std::to_string(std::countr_zero(nodes));
}

/// Returns the node that a worker of the last group prefers, that of what it takes from the system, and that of what the
/// engine has for the group.
std::string nodes_of_last_group(engine& e) {
  constexpr std::size_t size = 8 << 20;
  const group_id last = e.groups().groups().back().id;
  const auto taken = [&](std::pmr::memory_resource& from) {
    auto* const bytes = static_cast<char*>(from.allocate(size));
    std::string node = node_of_written(bytes, size);
    from.deallocate(bytes, size);
    return node;
  };
  detail::node_resource anywhere(std::nullopt);
  return e.run([&] { return preferred_node() + " " + taken(anywhere); }, {.group = last}).get() + " " +
         taken(e.memory(last));
}

void check_node_memory(verdict& v) {
  set_module("online_movable");
  engine_at_work e("a node loses its memory", v);
  const auto from = [&](const std::string& when, const std::string& nodes) {
    std::string seen;
    static_cast<void>(within(patience, [&] { return (seen = nodes_of_last_group(e.running())) == nodes; }));
    e.holds(when + ", preferred by its worker, its memory, and its group's", seen, nodes);
    e.comes_to(when, all);
  };
  static_cast<void>(
      pin_this_thread(first_node)); // the system's own choice for what this thread touches is there
  from("before", "1 1 1");
  constexpr std::size_t size = 1 << 20;
  std::pmr::memory_resource& near = e.running().memory(e.running().groups().groups().back().id);
  auto* const kept = static_cast<char*>(near.allocate(size));
  e.holds("what is kept, node", node_of_written(kept, size), "1");
  set_module("offline");
  from("without it", "2 2 2"); // the nearest
  e.holds("what is kept, bytes", std::to_string(std::count(kept, kept + size, 'x')), std::to_string(size));
  near.deallocate(kept, size);
  set_module("online_movable");
  from("with it again", "1 1 1");
  e.holds("changes", std::to_string(e.running().metrics().machine_changes), "2");
  for (const std::string& w : e.running().warnings()) e.holds("warning", w, "none");
}

/// Runs the check of that name; empty: all but "memory".
int run(std::string_view only) {
  using check_list = std::vector<std::pair<std::string_view, void (*)(verdict&)>>;
  verdict v;
  const check_list checks{{"unplugging", check_unplugging},   {"losing a node", check_losing_a_node},
                          {"clock jumps", check_clock_jumps}, {"hog", check_hog},
                          {"full node", check_full_node},     {"quota", check_quota},
                          {"partition", check_partition},     {"memory", check_node_memory}};
  for (const auto& [name, check] : checks) {
    if (only.empty() ? name == "memory" : name != only) continue;
    const auto began = std::chrono::steady_clock::now();
    check(v);
    const auto took =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
    std::cout << name << ": " << took.count() << " s\n" << std::flush;
  }
  std::cout << v.passed() << " passed, " << v.failed() << " failed\n";
  return v.failed() == 0 && v.passed() > 0 ? 0 : 1;
}

} // namespace

} // namespace corewise::emulated

int main(int argc, char** argv) {
  if (!std::filesystem::exists("/command")) {
    std::cerr << "change_check takes processors away: run it in a guest of run_on\n";
    return 2;
  }
  try {
    return corewise::emulated::run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& e) {
    std::cout << "FAILED " << e.what() << '\n';
    return 1;
  }
}
