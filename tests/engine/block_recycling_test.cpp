#include <corewise/engine/task_blocks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("blocks: those of a size never overlap while they are in use, whoever frees them") {
  // A producer takes, others give back: blocks go through caches and depots. Each is full of its own number
  // meanwhile.
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

TEST_CASE("blocks: a size fits the smallest class that holds it") {
  CHECK(detail::block_class(1) == 0);
  CHECK(detail::block_class(64) == 0);
  CHECK(detail::block_class(65) == 1);
  CHECK(detail::block_class(512) == 3);
  CHECK(detail::block_class(513) == 4);
  CHECK(detail::block_class(4096) == 6);
  CHECK(detail::block_class(4097) == detail::block_classes);
}
