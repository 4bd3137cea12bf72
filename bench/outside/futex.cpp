// No pool: one thread that sleeps on a futex until it is handed a call. This is the least cost of a hand-off.
#include "workload.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace corewise::bench {

namespace {

/// Takes a call only when the call before has begun.
class futex_hand_off {
 public:
  static constexpr std::string_view name = "futex";

  explicit futex_hand_off(const options& /*of one thread*/) : thread_([this] { work(); }) {}
  futex_hand_off(const futex_hand_off&) = delete;
  futex_hand_off& operator=(const futex_hand_off&) = delete;
  ~futex_hand_off() {
    post([this] { ends_ = true; });
  }

  std::string profile() const { return {}; }

  template <class F> void post(F&& f) {
    call_ = std::forward<F>(f);
    posted_.fetch_add(1, std::memory_order_release);
    futex(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void work() {
    for (std::uint32_t begun = 0; !ends_; ++begun) {
      while (posted_.load(std::memory_order_acquire) == begun) futex(FUTEX_WAIT_PRIVATE, begun);
      const std::function<void()> call = std::exchange(call_, nullptr);
      call();
    }
  }
  void futex(int what, std::uint32_t value) {
    ::syscall(SYS_futex, &posted_, what, value, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> posted_{0}; // publishes call_
  std::function<void()> call_;
  bool ends_ = false; // the thread's own
  std::jthread thread_;
};

} // namespace

} // namespace corewise::bench

int main(int count, char** words) {
  using namespace corewise::bench;
  const options o = options_of(count, words, 1);
  if (o.figure != "wake" && o.figure != "waking") {
    std::fputs("--figure: wake or waking\n", stderr);
    return 2;
  }
  futex_hand_off pool(o);
  return outside::measure_rest(o, pool);
}
