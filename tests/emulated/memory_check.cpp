#include "checks.hpp"
#include "every_worker.hpp"

#include <corewise/topology/binding.hpp>

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <mutex>

namespace corewise::emulated {

namespace {

std::string node_text(const void* address) {
  const auto node = node_of_page(address);
  return node ? std::to_string(*node) : "unknown";
}

/// Fresh pages that no thread has touched yet, and no huge ones, which may reach into pages that other
/// threads have touched.
class fresh_pages {
 public:
  static constexpr std::size_t bytes = 64 * 1024;

  fresh_pages() : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    (void)::madvise(data_, bytes, MADV_NOHUGEPAGE);
  }
  fresh_pages(const fresh_pages&) = delete;
  fresh_pages& operator=(const fresh_pages&) = delete;
  ~fresh_pages() { ::munmap(data_, bytes); }

  void* data() const noexcept { return data_; }

 private:
  void* data_;
};

struct addresses_of_worker {
  fresh_pages touched;
  const void* seat = nullptr;    ///< stands for queues and board entry, which lie in the same mapping
  const void* closure = nullptr; ///< a task that this worker submitted
};

void collect(engine& e, addresses_of_worker& into) {
  std::memset(into.touched.data(), 1, fresh_pages::bytes);
  into.seat = detail::this_execution.seat;
  // The address of the capture is an address in the task's block, wherever the task then runs.
  (void)e.submit([payload = std::array<char, 100>{}, &into] { into.closure = &payload; });
}

/// Returns the node where a task runs that a thread outside submits with a hint near that address.
std::string node_of_task_near(engine& e, const void* address) {
  std::optional<std::uint32_t> node;
  const auto note = [&] { node = e.groups()[e.workers()[*e.this_worker()].group].node; };
  (void)e.submit(note, near(address));
  e.drain();
  return std::to_string(node ? e.machine().nodes()[*node].os_index : 0);
}

} // namespace

void check_memory(const profile& p, verdict& v) {
  engine e(p);
  std::vector<addresses_of_worker> seen(e.workers().size());
  on_every_worker(e, [&](worker_id w) { collect(e, seen[w.value]); });
  for (const worker_place& w : e.workers().workers()) {
    const std::string who = "worker " + std::to_string(w.id.value);
    const auto home = e.groups()[w.group].node;
    const std::string node = home ? std::to_string(e.machine().nodes()[*home].os_index) : "0";
    const addresses_of_worker& its = seen[w.id.value];
    v.same(who + ", node of what it touches", node_text(its.touched.data()), node);
    v.same(who + ", node of a task near that", node_of_task_near(e, its.touched.data()), node);
    v.same(who + ", node of its seat", node_text(its.seat), node);
    v.same(who + ", node of its tasks", node_text(its.closure), node);
  }
}

} // namespace corewise::emulated
