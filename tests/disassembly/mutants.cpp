#include <atomic>
#include <mutex>

// The functions that `check` must tell apart: `clean` counts as the engine does; each of the others has a
// locked instruction that none of its rows allows. Never run.

#define NOT_INLINED [[gnu::noinline]]

namespace corewise::detail {

std::atomic<long> total{0};
std::mutex door;
long steps = 0;

struct shared_count {
  static void add() noexcept { total.fetch_add(1, std::memory_order_relaxed); }
  NOT_INLINED static void add_elsewhere() noexcept { total.fetch_add(1, std::memory_order_relaxed); }
};

struct ring {
  static bool pop() noexcept {
    long head = total.load(std::memory_order_acquire);
    return total.compare_exchange_strong(head, head + 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }
};

struct clean {
  NOT_INLINED static bool push() noexcept {
    total.store(total.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    return ring::pop();
  }
};
struct adds {
  NOT_INLINED static bool push() noexcept {
    shared_count::add();
    return ring::pop();
  }
};
struct calls {
  NOT_INLINED static bool push() noexcept {
    shared_count::add_elsewhere();
    return ring::pop();
  }
};
struct jumps {
  NOT_INLINED static void push() noexcept {
    ++steps;
    shared_count::add_elsewhere();
  }
};
struct exchanges {
  NOT_INLINED static long push() noexcept { return total.exchange(steps, std::memory_order_relaxed); }
};
struct fences {
  NOT_INLINED static long push() noexcept {
    total.store(steps, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return total.load(std::memory_order_relaxed);
  }
};
struct locks {
  NOT_INLINED static void push() noexcept {
    const std::scoped_lock lock(door);
    ++steps;
  }
};

} // namespace corewise::detail

int main() {
  using namespace corewise::detail;
  clean::push();
  adds::push();
  calls::push();
  jumps::push();
  exchanges::push();
  fences::push();
  locks::push();
}
