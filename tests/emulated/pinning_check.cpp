#include "checks.hpp"
#include "every_worker.hpp"
#include "worker_threads.hpp"

#include <corewise/topology/binding.hpp>

#include <mutex>

namespace corewise::emulated {

namespace {

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

} // namespace

void check_pinning(const profile& p, const std::string& title, verdict& v) {
  worker_threads threads;
  engine e(p, threads.hooks());
  for (const std::string& w : e.warnings()) v.same(title + ": warning", w, "none");
  for (const worker_place& w : e.workers().workers()) {
    const std::string worker_name = title + ": worker " + std::to_string(w.id.value);
    v.same(worker_name + ", CPUs", threads.status(w.id, "Cpus_allowed_list"), place_of(e, w).to_string());
    v.same(worker_name + ", name", threads.status(w.id, "Name"),
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
