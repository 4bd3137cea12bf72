#include "checks.hpp"
#include "every_worker.hpp"

#include <corewise/topology/binding.hpp>

#include <unistd.h>

#include <fstream>
#include <mutex>

namespace corewise::emulated {

namespace {

/// The line of /proc/self/task/TID/status that begins with `name`, without the name; "" when there is none.
std::string status_of(pid_t thread, const std::string& name) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

/// Where a worker's thread should be allowed to run.
cpu_set place_of(const engine& e, const worker_place& w) {
  const locality_group& group = e.groups()[w.group];
  switch (e.configuration().workers.pin) {
  case pin_to::none: return this_thread_affinity();
  case pin_to::core: return e.machine().cores()[w.core].cpus;
  case pin_to::node: return e.machine().nodes()[group.node.value()].home_cpus & e.machine().cpus();
  case pin_to::automatic:
  case pin_to::group: break;
  }
  return group.cpus;
}

/// The kernel's ids of the workers' threads.
class thread_ids {
 public:
  engine_hooks hooks() {
    engine_hooks h;
    h.on_worker_start = [this](worker_id w) {
      const std::scoped_lock lock(mutex_);
      of_[w.value] = ::gettid();
    };
    return h;
  }
  pid_t operator[](worker_id w) {
    const std::scoped_lock lock(mutex_);
    return of_.at(w.value);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, pid_t> of_;
};

} // namespace

void check_pinning(const profile& p, const std::string& title, verdict& v) {
  thread_ids threads;
  engine e(p, threads.hooks());
  for (const std::string& w : e.warnings()) v.same(title + ": warning", w, "none");
  for (const worker_place& w : e.workers().workers()) {
    const std::string worker_name = title + ": worker " + std::to_string(w.id.value);
    v.same(worker_name + ", CPUs", status_of(threads[w.id], "Cpus_allowed_list"), place_of(e, w).to_string());
    v.same(worker_name + ", name", status_of(threads[w.id], "Name"),
           "corewise/g" + std::to_string(w.group.value));
  }
  std::mutex one_speaks;
  on_every_worker(e, [&](worker_id w) {
    const std::uint32_t cpu = this_cpu().value();
    const std::scoped_lock lock(one_speaks);
    v.same(title + ": worker " + std::to_string(w.value) + ", runs on CPU " + std::to_string(cpu),
           place_of(e, e.workers()[w]).contains(cpu) ? "its own" : "a foreign one", "its own");
  });
}

} // namespace corewise::emulated
