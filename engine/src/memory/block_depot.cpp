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

/// While it counts, `trim` asks after so many blocks whether to stop.
constexpr std::size_t blocks_between_asking = 4096;

void forget_count(slab& s) noexcept {
  s.spare_in_page = {};
  s.counted = false;
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
    if (s.returned.none()) unlist_returned(s);
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
  auto* const s = ::new (uncut_) slab(node, this);
  s->next = std::exchange(slabs_, s);
  if (s->next != nullptr) s->next->before = s;
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
  }
  slab* counted = nullptr;
  bool stopped = false;
  std::size_t seen = 0;
  all.visit([&](free_block* b) {
    slab& s = slab::of(b);
    if (s.owner == this) {
      ++s.spare_in_page[page_of(b)];
      if (!std::exchange(s.counted, true)) s.next_counted = std::exchange(counted, &s);
    }
    stopped = seen++ % blocks_between_asking == 0 && stop();
    return !stopped;
  });
  if (stopped) {
    for (; counted != nullptr; counted = counted->next_counted) forget_count(*counted);
    const std::scoped_lock lock(mutex_);
    spare_.take(all);
    return 0;
  }
  for (slab* s = counted; s != nullptr; s = s->next_counted) s->whole = claim_whole(*s, bytes);
  spare_blocks left;
  all.visit([&](free_block* b) {
    const slab& s = slab::of(b);
    const std::size_t page = page_of(b);
    const bool goes = s.whole || (page != 0 && s.spare_in_page[page] == blocks_in(page, bytes));
    if (!goes || s.owner != this) left.put_one(b);
    return true;
  });
  const std::size_t dropped = all.size() - left.size();
  std::size_t refused = 0;
  while (counted != nullptr) {
    slab& s = *std::exchange(counted, counted->next_counted);
    if (s.whole)
      ::munmap(&s, slab_bytes);
    else
      refused += return_pages(s, bytes);
  }
  const std::scoped_lock lock(mutex_);
  spare_.take(left);
  cut_ -= dropped;
  return refused;
}

/// Returns whether each block of the slab is spare and counted. Then none is cut from it any more.
bool block_depot::claim_whole(slab& s, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::size_t page = 0; page < pages_of_slab(); ++page)
    if (!s.returned.test(page) && s.spare_in_page[page] != blocks_in(page, bytes)) return false;
  if (s.returned.any()) unlist_returned(s);
  unlist(s);
  pages_ -= pages_of_slab() - s.returned.count();
  return true;
}

/// Gives the pages of which all blocks are spare to the system. Returns how many it refused.
std::size_t block_depot::return_pages(slab& s, std::size_t bytes) noexcept {
  std::size_t refused = 0;
  std::bitset<slab::pages_max> returned;
  const auto is_spare = [&](std::size_t page) { return s.spare_in_page[page] == blocks_in(page, bytes); };
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
  if (s.returned.none()) s.next_returned = std::exchange(returned_, &s);
  s.returned |= returned;
  pages_ -= returned.count();
  return refused;
}

/// Takes the slab out of the list of those with returned pages. Call with the lock held.
void block_depot::unlist_returned(slab& s) noexcept {
  slab** at = &returned_;
  while (*at != &s) at = &(*at)->next_returned;
  *at = s.next_returned;
}

/// Takes the slab out of the list of all. Call with the lock held.
void block_depot::unlist(slab& s) noexcept {
  (s.before != nullptr ? s.before->next : slabs_) = s.next;
  if (s.next != nullptr) s.next->before = s.before;
}

void block_depot::unmap() noexcept {
  while (slabs_ != nullptr) ::munmap(std::exchange(slabs_, slabs_->next), slab_bytes);
}

block_depot::amount block_depot::count(std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  return {pages_ * page_bytes(), spare_.size() * bytes};
}

} // namespace corewise::detail
