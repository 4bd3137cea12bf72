#include "memory/block_depot.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace corewise::detail {

namespace {

/// Reads a word each time. A static variable would have a lock, which a process fork may find held for ever.
std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::getpagesize()); } // 4096 at least
std::size_t pages_of_slab() noexcept { return slab_bytes / page_bytes(); }
std::size_t page_of(const void* block) noexcept { return slab::behind_head(block) / page_bytes(); }

/// Returns the room of a slab's head, in whole blocks.
constexpr std::size_t head_bytes(std::size_t bytes) noexcept {
  return (sizeof(slab) + bytes - 1) / bytes * bytes;
}

/// Returns how many blocks a page has.
std::uint16_t blocks_in(std::size_t page, std::size_t bytes) noexcept {
  return static_cast<std::uint16_t>((page_bytes() - (page == 0 ? head_bytes(bytes) : 0)) / bytes);
}

/// While it looks at blocks, `trim` asks after so many batches whether to stop.
constexpr std::size_t batches_between_asking = 128;

void forget_count(slab& s) noexcept {
  s.spare_in_page = {};
  s.counted = false;
}

/// Puts the slab into the list that begins at `first`. Call with the lock held.
template <slab_links slab::* In> void enlist(slab*& first, slab& s) noexcept {
  s.*In = {first, nullptr};
  if (first != nullptr) (first->*In).before = &s;
  first = &s;
}

/// Takes the slab out of that list. Call with the lock held.
template <slab_links slab::* In> void unlist(slab*& first, slab& s) noexcept {
  const auto [next, before] = s.*In;
  (before != nullptr ? (before->*In).next : first) = next;
  if (next != nullptr) (next->*In).before = before;
}

std::byte* begin_of(slab& s) noexcept { return reinterpret_cast<std::byte*>(&s); }

/// Maps a slab: maps twice the room, and unmaps the parts outside the aligned half. Throws `std::bad_alloc`.
std::byte* map_slab() {
  std::byte* const begin = map_pages(2 * slab_bytes);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) & (slab_bytes - 1);
  if (before != 0) ::munmap(begin, before);
  ::munmap(begin + before + slab_bytes, slab_bytes - before);
  return begin + before;
}

} // namespace

std::byte* map_pages(std::size_t bytes) {
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(room);
}

/// Cuts a block that no thread has. Its page lies on the node of the thread that touches it first: the
/// caller's. Each block lies at a multiple of its size, so that none lies across two pages: a store across
/// two pages costs more than all else here.
std::byte* block_depot::cut(std::size_t bytes, std::uint16_t node) {
  if (std::byte* block = cut_returned(bytes)) return block;
  if (uncut_ == end_) new_slab(bytes, node);
  ++cut_;
  if (slab::behind_head(uncut_) % page_bytes() == 0) ++pages_;
  return std::exchange(uncut_, uncut_ + bytes);
}

/// Cuts a block from a page that the system had. Returns null if there is none.
std::byte* block_depot::cut_returned(std::size_t bytes) noexcept {
  if (recut_ == recut_end_) {
    if (returned_ == nullptr) return nullptr;
    slab& s = *returned_;
    std::size_t page = 0;
    while (!s.returned.test(page)) ++page;
    s.returned.reset(page);
    if (s.returned.none()) unlist<&slab::with_returned>(returned_, s);
    recut_ = begin_of(s) + page * page_bytes();
    recut_end_ = recut_ + page_bytes();
    ++pages_;
  }
  ++cut_;
  return std::exchange(recut_, recut_ + bytes);
}

void block_depot::new_slab(std::size_t bytes, std::uint16_t node) {
  static_assert(sizeof(slab) <= 4096);
  uncut_ = map_slab();
  end_ = uncut_ + slab_bytes;
  enlist<&slab::all>(slabs_, *::new (uncut_) slab(node, this));
  uncut_ += head_bytes(bytes);
  ++pages_; // the first
}

std::size_t block_depot::trim(std::size_t bytes, std::size_t keep,
                              const std::function<bool()>& stop) noexcept {
  spare_blocks all;
  {
    const std::scoped_lock lock(mutex_);
    if (spare_.size() * bytes <= keep) return 0;
    all = std::exchange(spare_, {});
    taken_out_ = all.size();
  }
  spare_blocks stay;
  slab* counted = nullptr;
  std::size_t refused = 0;
  if (count_spare(all, counted, stop) && part(all, stay, bytes, stop))
    while (counted != nullptr && !stop()) {
      slab& s = *std::exchange(counted, counted->next_counted);
      if (claim_whole(s, bytes))
        ::munmap(&s, slab_bytes);
      else
        refused += return_pages(s, bytes, stay);
    }
  for (; counted != nullptr; counted = counted->next_counted) {
    stay.put_all(std::exchange(counted->going, {}));
    forget_count(*counted);
  }
  stay.put_all(all);
  const std::scoped_lock lock(mutex_);
  spare_.put_all(stay);
  taken_out_ = 0;
  return refused;
}

/// Counts the spare blocks of each page, and lists the slabs. Returns false if `stop` returned true.
bool block_depot::count_spare(const spare_blocks& all, slab*& counted,
                              const std::function<bool()>& stop) const noexcept {
  std::size_t seen = 0;
  const auto count = [&](free_block* b) {
    for (; b != nullptr; b = b->next) {
      slab& s = slab::of(b);
      if (s.owner != this) continue;
      ++s.spare_in_page[page_of(b)];
      if (!std::exchange(s.counted, true)) s.next_counted = std::exchange(counted, &s);
    }
  };
  for (free_block* b = all.batches; b != nullptr; b = b->next_batch) {
    if (seen++ % batches_between_asking == 0 && stop()) return false;
    count(b);
  }
  count(all.rest.top);
  return true;
}

/// Puts the blocks of wholly spare pages onto the lists of their slabs, and all others into `stay`. Returns
/// false if `stop` returned true. Then some are still in `all`.
bool block_depot::part(spare_blocks& all, spare_blocks& stay, std::size_t bytes,
                       const std::function<bool()>& stop) const noexcept {
  for (std::size_t seen = 0; all.size() != 0; ++seen) {
    if (seen % batches_between_asking == 0 && stop()) return false;
    for (free_list some = all.take_some(); some.top != nullptr;) {
      void* const b = some.pop();
      slab& s = slab::of(b);
      const std::size_t page = page_of(b);
      const bool goes = s.owner == this && s.spare_in_page[page] == blocks_in(page, bytes);
      (goes ? s.going : stay).put_one(b);
    }
  }
  return true;
}

/// Returns whether each block of the slab goes. Then none is cut from it any more.
bool block_depot::claim_whole(slab& s, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const std::size_t pages = pages_of_slab() - s.returned.count(); // the first is one of them
  if (s.going.size() != blocks_in(0, bytes) + (pages - 1) * blocks_in(1, bytes)) return false;
  if (s.returned.any()) unlist<&slab::with_returned>(returned_, s);
  unlist<&slab::all>(slabs_, s);
  pages_ -= pages;
  cut_ -= s.going.size();
  taken_out_ -= s.going.size();
  return true;
}

/// Gives the slab's wholly spare pages to the system, but the first. Its blocks go into `stay`. Returns how
/// many pages the system refused.
std::size_t block_depot::return_pages(slab& s, std::size_t bytes, spare_blocks& stay) noexcept {
  const auto is_spare = [&](std::size_t page) { return s.spare_in_page[page] == blocks_in(page, bytes); };
  std::size_t going = std::exchange(s.going, {}).size();
  if (is_spare(0)) {
    going -= blocks_in(0, bytes);
    for (std::size_t at = head_bytes(bytes); at < page_bytes(); at += bytes) stay.put_one(begin_of(s) + at);
  }
  std::size_t refused = 0;
  std::bitset<slab::pages_max> returned;
  for (std::size_t page = 1; page < pages_of_slab(); ++page) {
    const std::size_t first = page;
    for (; page < pages_of_slab() && is_spare(page); ++page) returned.set(page);
    if (page == first) continue;
    if (::madvise(begin_of(s) + first * page_bytes(), (page - first) * page_bytes(), MADV_DONTNEED) != 0)
      refused += page - first;
  }
  forget_count(s);
  if (returned.none()) return 0;
  const std::scoped_lock lock(mutex_);
  if (s.returned.none()) enlist<&slab::with_returned>(returned_, s);
  s.returned |= returned;
  pages_ -= returned.count();
  cut_ -= going;
  taken_out_ -= going;
  return refused;
}

void block_depot::unmap() noexcept {
  while (slabs_ != nullptr) ::munmap(std::exchange(slabs_, slabs_->all.next), slab_bytes);
}

block_depot::amount block_depot::count(std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  return {pages_ * page_bytes(), (spare_.size() + taken_out_) * bytes};
}

} // namespace corewise::detail
