// Tests blocks that a thread on one memory node takes and threads on others free. The nodes are made up.

#include "memory/block_depot.hpp"
#include "memory/block_memory.hpp"

#include <corewise/engine/detail/task_blocks.hpp>

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

using namespace corewise;

namespace {
thread_local std::optional<unsigned> made_up_node;
} // namespace

/// In place of the C library's: a test says on which node its thread runs.
extern "C" int getcpu(unsigned* cpu, unsigned* node) noexcept {
  if (!made_up_node) return static_cast<int>(::syscall(SYS_getcpu, cpu, node, nullptr));
  if (cpu != nullptr) *cpu = 0;
  if (node != nullptr) *node = *made_up_node;
  return 0;
}

// With AddressSanitizer blocks are not cut from slabs.
#if defined(__has_feature)
#define COREWISE_CUTS_BLOCKS !__has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define COREWISE_CUTS_BLOCKS 0
#else
#define COREWISE_CUTS_BLOCKS 1
#endif

#if COREWISE_CUTS_BLOCKS

namespace {

constexpr std::size_t size_class = 1;
constexpr std::size_t batch = detail::block_depot::batch;

template <class F> void on_node(unsigned node, const F& act) {
  std::thread([&] {
    made_up_node = node;
    act();
  }).join();
}

std::vector<void*> take_on(unsigned node, std::size_t blocks) {
  std::vector<void*> taken(blocks);
  on_node(node, [&] {
    for (void*& b : taken) b = detail::acquire_block(size_class);
  });
  for (void* b : taken) REQUIRE(detail::slab::of(b).node == node);
  return taken;
}

/// Gives the calling thread a cache with blocks of that size and of the smallest.
void open_cache() {
  for (const std::size_t c : {std::size_t{0}, size_class}) detail::release_block(detail::acquire_block(c), c);
}

/// Returns how many blocks lie in no depot.
std::uint64_t out() { return detail::count_block_memory().used_bytes / detail::block_sizes[size_class]; }

} // namespace

TEST_CASE("other nodes: blocks go back to their nodes in batches, not one by one") {
  const std::vector<void*> of_one = take_on(901, 10 * batch);
  const std::vector<void*> of_two = take_on(902, 10 * batch);
  on_node(903, [&] {
    open_cache();
    std::uint64_t before = out();
    std::size_t visits = 0;
    for (std::size_t i = 0; i < 10 * batch; ++i)
      for (void* b : {of_one[i], of_two[i]}) {
        detail::release_block(b, size_class);
        visits += out() != before ? 1 : 0;
        before = out();
      }
    CHECK(visits == 20);
    for (void* b : take_on(901, 10 * batch)) detail::release_block(b, size_class);
  });
}

TEST_CASE("other nodes: a thread gives the blocks back that it keeps for other nodes when it ends") {
  const std::vector<void*> taken = take_on(901, batch - 1);
  on_node(902, open_cache); // from here on its depots have cut pages
  const std::uint64_t before = out();
  on_node(902, [&] {
    open_cache();
    const std::uint64_t kept = out();
    for (void* b : taken) detail::release_block(b, size_class);
    CHECK(out() == kept);
  });
  CHECK(out() == before - taken.size());
}

TEST_CASE("other nodes: threads of several nodes that free each other's blocks never share one") {
  constexpr std::size_t threads = 8;
  constexpr std::size_t count = 2000;
  std::vector<std::vector<std::size_t*>> blocks(threads);
  std::atomic<std::size_t> shared{0};
  for (std::size_t round = 0; round < 10; ++round) {
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        made_up_node = 901 + static_cast<unsigned>((t + round) % 4);
        for (std::size_t i = 0; i < count; ++i) {
          auto* b = static_cast<std::size_t*>(detail::acquire_block(size_class));
          *b = t * count + i;
          blocks[t].push_back(b);
        }
      });
    for (std::thread& t : all) t.join();
    all.clear();
    for (std::size_t t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        made_up_node = 901 + static_cast<unsigned>(t % 4);
        for (std::size_t i = t; i < threads * count; i += threads) {
          std::size_t* const b = blocks[i / count][i % count];
          if (*b != i) ++shared;
          detail::release_block(b, size_class);
        }
      });
    for (std::thread& t : all) t.join();
    for (auto& b : blocks) b.clear();
  }
  CHECK(shared == 0);
  const std::uint64_t held = detail::count_block_memory().held_bytes;
  detail::trim_blocks(0);
  CHECK(detail::count_block_memory().held_bytes < held);
}

#endif
