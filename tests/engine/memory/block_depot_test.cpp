// Tests how a depot gives pages back, with depots that nothing else uses.

#include "child_process.hpp"
#include "memory/block_depot.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

using namespace corewise;
using detail::block_depot;
using detail::free_list;
using detail::slab;

namespace {

constexpr std::size_t page = 4096; // of these machines, and the size of each block
constexpr std::size_t blocks_of_slab = detail::slab_bytes / page - 1;

std::vector<void*> take(block_depot& depot, std::size_t slabs) {
  std::vector<void*> taken;
  std::set<void*> different;
  while (taken.size() < slabs * blocks_of_slab) {
    for (free_list batch = depot.take_batch(page, 0); batch.top != nullptr;) {
      taken.push_back(batch.pop());
      std::fill_n(static_cast<std::byte*>(taken.back()), page, std::byte{1});
      CHECK(different.insert(taken.back()).second);
    }
  }
  return taken;
}

/// Puts back the blocks for which `goes` is true, and takes them out of `blocks`.
void put(block_depot& depot, std::vector<void*>& blocks, const std::function<bool(void*)>& goes) {
  std::erase_if(blocks, [&](void* b) {
    if (!goes(b)) return false;
    depot.put_one(b);
    return true;
  });
}

bool any(void* /*block*/) { return true; }

void let_use(void* pages, std::size_t count, bool usable) {
  if (::mprotect(pages, count * page, usable ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) std::abort();
}

bool has_other_pages() {
  if (::getpagesize() == page) return false;
  MESSAGE("skipped: this machine has larger pages");
  return true;
}

} // namespace

TEST_CASE("depot: a trim puts blocks back without looking at each batch") {
  if (has_other_pages()) return;
  constexpr std::size_t batches = 64;
  const pid_t child = tests::child_that([] {
    block_depot depot;
    std::vector<free_list> all(batches);
    for (free_list& b : all) b = depot.take_batch(page, 0);
    for (const free_list& b : all) depot.put_batch(b.top);
    // The lists of batches begin and end with the two that stay usable.
    const auto let_use_others = [&](bool usable) {
      for (std::size_t i = 1; i + 1 < batches; ++i) let_use(all[i].top, 1, usable);
    };
    depot.trim(page, 0, [&] {
      depot.put_batch(depot.take_batch(page, 0).top); // so that there are others when it puts them back
      let_use_others(false);
      return true;
    });
    let_use_others(true);
    std::set<detail::free_block*> tops;
    for (std::size_t i = 0; i < batches + 1; ++i) tops.insert(depot.take_batch(page, 0).top);
    const bool there = std::ranges::all_of(all, [&](const free_list& b) { return tops.contains(b.top); });
    std::_Exit(there ? 0 : 1);
  });
  CHECK(tests::exit_status(child) == 0);
}

TEST_CASE("depot: a trim leaves off in each of its parts, and loses no block") {
  if (has_other_pages()) return;
  constexpr std::size_t slabs = 24;
  block_depot depot;
  // One block of every other slab stays in use. So half the slabs go, and of the others their pages.
  const auto goes = [](void* b) {
    return slab::behind_head(b) != 9 * page ||
           reinterpret_cast<std::uintptr_t>(b) / (2 * detail::slab_bytes) % 2 == 0; // they lie so far apart
  };
  std::set<std::size_t> held;
  bool ends = false;
  for (int stop_at = 1; !ends; ++stop_at) {
    std::vector<void*> blocks = take(depot, slabs);
    const std::size_t all = depot.count(page).held;
    put(depot, blocks, goes);
    int asked = 0;
    depot.trim(page, 0, [&] { return ++asked >= stop_at; });
    CHECK(asked <= stop_at);
    ends = asked < stop_at;
    held.insert(all - depot.count(page).held);
    put(depot, blocks, any);
    CHECK(depot.is_whole());
    REQUIRE(stop_at < 10'000);
  }
  CHECK(held.size() > slabs / 2); // it has left off after any number of slabs
  depot.unmap();
}

TEST_CASE("depot: a slab with returned pages goes without a look at the others") {
  if (has_other_pages()) return;
  constexpr std::size_t slabs = 12;
  const pid_t child = tests::child_that([] {
    block_depot depot;
    std::vector<void*> blocks = take(depot, slabs + 1);
    std::vector<slab*> made;
    for (void* b : blocks)
      if (std::ranges::find(made, &slab::of(b)) == made.end()) made.push_back(&slab::of(b));
    put(depot, blocks, [](void* b) { return slab::behind_head(b) != 9 * page; });
    depot.trim(page, 0,
               [] { return false; }); // all slabs have returned pages now, in this order or the reverse
    const auto let_use_others = [&](bool usable) {
      for (std::size_t i = 0; i < slabs; ++i)
        if (i < slabs / 2 - 1 || i > slabs / 2 + 1) let_use(made[i], 1, usable);
    };
    let_use_others(false);
    const std::size_t held = depot.count(page).held;
    put(depot, blocks, [&](void* b) { return &slab::of(b) == made[slabs / 2]; });
    depot.trim(page, 0, [] { return false; });
    const bool gone = depot.count(page).held == held - 2 * page; // its head and the block
    let_use_others(true);
    put(depot, blocks, any);
    std::_Exit(gone && depot.is_whole() ? 0 : 1);
  });
  CHECK(tests::exit_status(child) == 0);
}
