#include "books/submitter.hpp"

#include <corewise/policies/detail/atomic.hpp>

namespace corewise::detail {

namespace {

struct entry {
  std::uint64_t engine;
  std::shared_ptr<submitter> record;
};

// Trivial, so that a thread can read it after its submitters are gone.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool submitters_gone = false;

/// The calling thread's submitters, the last used in front.
struct thread_submitters {
  std::vector<entry> entries;

  ~thread_submitters() {
    submitters_gone = true;
    for (const entry& e : entries) e.record->taken.store(false, std::memory_order_release); // pairs: taken
  }
};

[[gnu::tls_model("initial-exec")]] thread_local thread_submitters mine_by_engine;

std::uint64_t next_engine() noexcept {
  static atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

submitter_registry::submitter_registry() : engine_(next_engine()) {}

submitter& submitter_registry::mine() {
  if (submitters_gone)
    return *take_one(); // a destructor of another thread-local object submits; never given back
  std::vector<entry>& entries = mine_by_engine.entries;
  if (!entries.empty() && entries.front().engine == engine_) return *entries.front().record;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].engine != engine_) continue;
    std::swap(entries.front(), entries[i]);
    return *entries.front().record;
  }
  std::erase_if(entries,
                [](const entry& e) { return e.record.use_count() == 1; }); // of engines that are gone
  entries.insert(entries.begin(), {engine_, take_one()});
  return *entries.front().record;
}

std::shared_ptr<submitter> submitter_registry::take_one() {
  const std::scoped_lock lock(mutex_);
  for (const auto& s : all_) {
    bool taken = false;
    if (s->taken.compare_exchange_strong(taken, true, std::memory_order_acquire, // pairs: taken
                                         std::memory_order_relaxed))
      return s;
  }
  all_.push_back(std::make_shared<submitter>(engine_ * 0x9E3779B97F4A7C15ULL + all_.size()));
  return all_.back();
}

} // namespace corewise::detail
