#pragma once

#include <contender.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace corewise::bench {

/// Where a worker's cursors lie: as described, both on one line, or each on lines of its own.
enum class cursors : std::uint8_t { together, apart };

/// The least-loaded scheduler of a published C reference, rewritten in C++: one thread allocates. For each
/// task it looks at all workers, beginning with another each time, skips full rings, and takes the ring with
/// the least in it. Workers spin. Only one thread may post, tasks cannot, and a task is 24 trivial bytes at
/// most. A baseline: a real program would not have workers that never rest.
///
/// | tag  | release site | acquire site | publishes             | weakened                                         |
/// |------|--------------|--------------|-----------------------|--------------------------------------------------|
/// | slot | post: tail   | work: tail   | the task in the slot  | half a task is run; the reference has no acquire |
/// | free | work: head   | post: head   | that the slot was read | a task is overwritten before it was copied       |
template <cursors Layout> class c_reference {
 public:
  static constexpr std::string_view name =
      Layout == cursors::together ? "c_reference_together" : "c_reference_apart";

  explicit c_reference(const options& o) : rings_(std::make_unique<ring[]>(o.workers)), workers_(o.workers) {
    for (std::uint32_t i = 0; i < o.workers; ++i) threads_.emplace_back([this, i] { work(rings_[i]); });
  }
  c_reference(const c_reference&) = delete;
  c_reference& operator=(const c_reference&) = delete;
  ~c_reference() { ends_.store(true, std::memory_order_relaxed); }

  std::string profile() const { return {}; }

  template <class F> void post(const F& f) {
    static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(task::data));
    ring& r = least();
    const std::uint64_t tail = r.tail.load(std::memory_order_relaxed); // this thread's own
    task& t = r.slots[tail % size];
    t.call = [](void* data) { (*std::launder(static_cast<F*>(data)))(); };
    std::memcpy(t.data.data(), &f, sizeof(F));
    r.tail.store(tail + 1, std::memory_order_release); // pairs: slot
  }

 private:
  static constexpr std::uint64_t size = 65'536;
  static constexpr std::size_t cursor_alignment = Layout == cursors::together ? 8 : 128;

  struct task {
    void (*call)(void*);
    alignas(8) std::array<std::byte, 24> data;
  };
  struct alignas(128) ring {
    std::atomic<std::uint64_t> head{0};                           // the worker writes it, as the next
    std::atomic<std::uint64_t> processed{0};                      // relaxed: no thread reads it
    alignas(cursor_alignment) std::atomic<std::uint64_t> tail{0}; // the allocator writes it
    alignas(128) std::array<task, size> slots;
  };

  ring& least() {
    for (;;) {
      ring* best = nullptr;
      std::uint64_t fewest = size; // a full ring is none
      for (std::uint32_t i = 0; i < workers_; ++i) {
        ring& r = rings_[(first_ + i) % workers_];
        const std::uint64_t queued =
            r.tail.load(std::memory_order_relaxed) - r.head.load(std::memory_order_acquire); // pairs: free
        if (queued < fewest) {
          fewest = queued;
          best = &r;
        }
      }
      ++first_;
      if (best != nullptr) return *best;
      pause();
    }
  }

  void work(ring& r) {
    for (std::uint64_t head = 0; !ends_.load(std::memory_order_relaxed);) {
      if (r.tail.load(std::memory_order_acquire) == head) { // pairs: slot
        pause();
        continue;
      }
      task t = r.slots[head % size];
      r.head.store(++head, std::memory_order_release); // pairs: free
      t.call(t.data.data());
      r.processed.store(head, std::memory_order_relaxed);
    }
  }
  static void pause() {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

  std::unique_ptr<ring[]> rings_;
  const std::uint32_t workers_;
  std::uint32_t first_ = 0;
  std::atomic<bool> ends_{false}; // relaxed: a word by itself
  std::vector<std::jthread> threads_;
};

} // namespace corewise::bench
