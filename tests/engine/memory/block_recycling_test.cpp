#include "memory/block_depot.hpp"

#include <corewise/engine/detail/task_blocks.hpp>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("blocks: blocks of a size never overlap while they are in use, although other threads free them") {
  // One thread takes blocks, and others give them back. So the blocks go through caches and depots. Meanwhile
  // each block is full of its own number.
  constexpr std::size_t count = 1000;
  for (std::size_t size_class = 0; size_class < detail::block_classes; ++size_class) {
    CAPTURE(size_class);
    const std::size_t numbers = detail::block_sizes[size_class] / sizeof(std::size_t);
    for (int round = 0; round < 8; ++round) {
      std::vector<std::size_t*> blocks;
      for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(static_cast<std::size_t*>(detail::acquire_block(size_class)));
        std::fill_n(blocks.back(), numbers, i);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const std::span<std::size_t> b(blocks[i], numbers);
        CHECK(std::ranges::count(b, i) == std::ssize(b));
        CHECK(reinterpret_cast<std::uintptr_t>(blocks[i]) % detail::block_alignment == 0);
      }
      std::thread other([&] {
        for (std::size_t i = 0; i < count / 2; ++i) detail::release_block(blocks[i], size_class);
      });
      for (std::size_t i = count / 2; i < count; ++i) detail::release_block(blocks[i], size_class);
      other.join();
    }
  }
}

// With AddressSanitizer blocks are not cut from slabs.
#if defined(__has_feature)
#define COREWISE_HAS_FEATURE(x) __has_feature(x)
#else
#define COREWISE_HAS_FEATURE(x) 0
#endif
#if !defined(__SANITIZE_ADDRESS__) && !COREWISE_HAS_FEATURE(address_sanitizer)
TEST_CASE(
    "blocks: a slab uses all of its memory but its head, and pages that are not used yet are not resident") {
  constexpr std::uintptr_t slab = 1 << 20;
  constexpr std::size_t batch = 32;
  for (std::size_t size_class = 0; size_class < detail::block_classes; ++size_class) {
    CAPTURE(size_class);
    const std::size_t bytes = detail::block_sizes[size_class];
    std::vector<void*> blocks;
    std::map<std::uintptr_t, std::size_t> found;
    const auto take = [&] {
      blocks.push_back(detail::acquire_block(size_class));
      return ++found[reinterpret_cast<std::uintptr_t>(blocks.back()) / slab];
    };
    // Other test cases have left blocks, and have parts of slabs in use. A new slab comes after them.
    constexpr std::size_t slabs_of_others = 64;
    const std::size_t head = (sizeof(detail::slab) + bytes - 1) / bytes;
    while (take() != slab / bytes - head) REQUIRE(blocks.size() < slabs_of_others * slab / bytes);
    for (std::size_t i = 0; i < slab / (2 * bytes); ++i) take();
    const auto last = reinterpret_cast<std::uintptr_t>(blocks.back());
    std::byte* const newest = static_cast<std::byte*>(blocks.back()) - last % slab;
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> in_memory(slab / page);
    REQUIRE(::mincore(newest, slab, in_memory.data()) == 0);
    const auto resident = static_cast<std::size_t>(
        std::ranges::count_if(in_memory, [](unsigned char bits) { return (bits & 1) != 0; }));
    CHECK(resident * page <= (found[last / slab] + head + batch) * bytes + page);
    for (void* b : blocks) detail::release_block(b, size_class);
  }
}
#endif

TEST_CASE("blocks: a size fits the smallest class that holds it") {
  CHECK(detail::block_class(1) == 0);
  CHECK(detail::block_class(64) == 0);
  CHECK(detail::block_class(65) == 1);
  CHECK(detail::block_class(512) == 3);
  CHECK(detail::block_class(513) == 4);
  CHECK(detail::block_class(4096) == 6);
  CHECK(detail::block_class(4097) == detail::block_classes);
}
