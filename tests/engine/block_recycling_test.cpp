#include <corewise/engine/task_blocks.hpp>

#include <doctest/doctest.h>

#include <set>
#include <thread>
#include <vector>

using namespace corewise;

TEST_CASE("blocks: those of a size never overlap while they are in use, whoever frees them") {
  // A producer takes, others give back: blocks go through caches and depots. Each holds its own number
  // meanwhile.
  constexpr std::size_t size_class = 1;
  constexpr int rounds = 50;
  constexpr int count = 1000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) {
      blocks.push_back(detail::acquire_block(size_class));
      *static_cast<int*>(blocks.back()) = i;
    }
    std::set<void*> distinct;
    for (int i = 0; i < count; ++i) {
      void* b = blocks[static_cast<std::size_t>(i)];
      CHECK(*static_cast<int*>(b) == i);
      CHECK(reinterpret_cast<std::uintptr_t>(b) % detail::block_alignment == 0);
      distinct.insert(b);
    }
    CHECK(distinct.size() == count);
    std::thread other([&] {
      for (std::size_t i = 0; i < count / 2; ++i) detail::release_block(blocks[i], size_class);
    });
    for (std::size_t i = count / 2; i < count; ++i) detail::release_block(blocks[i], size_class);
    other.join();
  }
}

TEST_CASE("blocks: a size fits the smallest class that holds it") {
  CHECK(detail::block_class(1) == 0);
  CHECK(detail::block_class(64) == 0);
  CHECK(detail::block_class(65) == 1);
  CHECK(detail::block_class(512) == 3);
  CHECK(detail::block_class(513) == detail::block_classes);
}
