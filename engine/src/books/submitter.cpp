#include "books/submitter.hpp"

#include "base/thread_end.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace corewise::detail {

namespace {

struct entry {
  std::uint64_t engine;
  std::shared_ptr<submitter> record;
};

/// The record that the calling thread used last. It is read for an engine of that number only, which lives
/// then.
struct last_entry {
  std::uint64_t engine;
  submitter* record;
};

// These words are trivial: no access checks whether they are there.
[[gnu::tls_model("initial-exec")]] constinit thread_local last_entry last_used{};
[[gnu::tls_model("initial-exec")]] constinit thread_local std::vector<entry>* mine_by_engine = nullptr;

/// Leaves the calling thread's records, if it has any, to other threads. If the thread submits once more at
/// its end, the system calls this once more.
constinit thread_end leaving([] {
  last_used = {};
  const std::unique_ptr<std::vector<entry>> mine(std::exchange(mine_by_engine, nullptr));
  if (mine == nullptr) return;
  for (const entry& e : *mine) e.record->taken.store(false, std::memory_order_release); // pairs: taken
});

std::uint64_t next_engine() noexcept {
  static atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

submitter_registry::submitter_registry() : engine_(next_engine()) {}

submitter& submitter_registry::mine() {
  if (last_used.engine == engine_) [[likely]]
    return *last_used.record;
  submitter& record = look_up();
  last_used = {engine_, &record};
  return record;
}

submitter& submitter_registry::look_up() {
  if (mine_by_engine == nullptr) {
    auto made = std::make_unique<std::vector<entry>>();
    if (!leaving.note()) throw std::bad_alloc();
    mine_by_engine = made.release();
  }
  std::vector<entry>& entries = *mine_by_engine;
  const auto before = std::ranges::find(entries, engine_, &entry::engine);
  if (before != entries.end()) return *before->record;
  std::erase_if(entries,
                [](const entry& e) { return e.record.use_count() == 1; }); // of engines that are gone
  const std::scoped_lock lock(mutex_);
  entries.reserve(entries.size() + 1);
  entries.push_back({engine_, take_one()});
  return *entries.back().record;
}

submitter_registry::~submitter_registry() {
  for (const auto& s : all_) s->overflow.end_row();
}

template <class Count> void submitter_registry::count(const Count& add_to) noexcept {
  try {
    add_to(mine().books);
  } catch (const std::bad_alloc&) {
    const std::scoped_lock lock(mutex_);
    add_to(shared_.books);
  }
}

void submitter_registry::count_submitted(std::uint8_t phase) noexcept {
  count([&](ledger& books) { books.submitted[phase].add(); });
}

void submitter_registry::count_finished(std::uint8_t phase) noexcept {
  count([&](ledger& books) { books.finished[phase].add(); });
}

/// Takes a record that no thread has, or makes one. Call with the lock held.
const std::shared_ptr<submitter>& submitter_registry::take_one() {
  for (const auto& s : all_) {
    bool taken = false;
    if (s->taken.compare_exchange_strong(taken, true, std::memory_order_acquire, // pairs: taken
                                         std::memory_order_relaxed))
      return s;
  }
  all_.push_back(std::make_shared<submitter>(engine_ * 0x9E3779B97F4A7C15ULL + all_.size()));
  return all_.back();
}

void submitter_registry::wait_for_arriving() const {
  for_each([](const submitter& s) {
    while (!s.by.holds(nullptr)) sleep_for(std::chrono::microseconds{20});
  });
}

/// One of them may wait for a thread that is about to make its record: so the lock is not held meanwhile.
void submitter_registry::wait_for_wakers() const {
  const auto any_wakes = [this] {
    bool any = false;
    for_each([&any](const submitter& s) {
      any = any || s.wakes.load(std::memory_order_acquire); // pairs: left
    });
    return any;
  };
  while (any_wakes()) sleep_for(std::chrono::microseconds{20});
}

} // namespace corewise::detail
