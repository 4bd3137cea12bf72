#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/task_blocks.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

// The spare recycled blocks of one size on one memory node, and the slabs from which they are cut.
//
// Invariant: a page goes back to the system only while all its blocks are spare and in no list. From then on
// its slab says so, and the page is cut anew when blocks are wanted again.
//
// `trim` takes all spare blocks out of the depot, so that no thread waits for it: threads that want blocks
// meanwhile cut new ones. It counts the spare blocks of each page, and then puts the blocks of pages that
// have no other block onto a list of their slab. Then slab by slab goes. A slab of which every block is spare
// is unmapped, so its memory serves other sizes, too. The blocks that stay go back into the depot in one piece.

namespace corewise::detail {

inline constexpr std::size_t slab_bytes = std::size_t{1} << 20;

class block_depot;
struct slab;

/// Maps memory from the system. Throws `std::bad_alloc`.
std::byte* map_pages(std::size_t bytes);

struct free_block {
  free_block* next;       // the next block in one list
  free_block* next_batch; // in the first block of a depot's batch: the next batch; else anything
};

/// Makes a block of the memory, in front of `next`.
inline free_block* linked(void* memory, free_block* next) noexcept {
  auto* const b = ::new (memory) free_block;
  b->next = next;
  return b;
}

/// A stack of blocks with its length.
struct free_list {
  free_block* top = nullptr;
  std::size_t size = 0;

  void push(void* memory) noexcept {
    top = linked(memory, top);
    ++size;
  }
  void* pop() noexcept {
    free_block* b = top;
    top = b->next;
    --size;
    return b;
  }
};

/// Whole batches and a rest.
struct spare_blocks {
  /// The blocks of a batch.
  static constexpr std::size_t batch = 32;

  free_block* batches = nullptr;
  free_block* last = nullptr; // of the batches, if there is one
  std::size_t batches_size = 0;
  free_list rest;

  std::size_t size() const noexcept { return batches_size * batch + rest.size; }
  void put_batch(free_block* first) noexcept {
    if (batches == nullptr) last = first;
    first->next_batch = batches;
    batches = first;
    ++batches_size;
  }
  void put_one(void* memory) noexcept {
    rest.push(memory);
    if (rest.size == batch) put_batch(std::exchange(rest, {}).top);
  }
  /// Joins the lists. Cost: some ns, however many batches there are.
  void put_all(spare_blocks others) noexcept {
    if (others.batches != nullptr) {
      (batches == nullptr ? batches : last->next_batch) = others.batches;
      last = others.last;
      batches_size += others.batches_size;
    }
    while (others.rest.size != 0) put_one(others.rest.pop());
  }
  free_list take_batch() noexcept {
    free_block* first = batches;
    batches = first->next_batch;
    --batches_size;
    return {first, batch};
  }
  /// Takes a batch, or the rest if there is no batch.
  free_list take_some() noexcept { return batches != nullptr ? take_batch() : std::exchange(rest, {}); }
};

/// The neighbours of a slab in a list.
struct slab_links {
  slab* next = nullptr;
  slab* before = nullptr;
};

/// The head of each slab, in the place of its first blocks. Slabs are aligned to their size.
struct alignas(128) slab {
  static constexpr std::size_t pages_max = slab_bytes / 4096;

  slab(std::uint16_t on, const block_depot* of_depot) noexcept : node(on), owner(of_depot) {}

  const std::uint16_t node;
  const block_depot* const owner; // another process's, if a parent has made the slab

  // The depot's lock guards these. They lie in other lines: each block that comes back looks at `node`.
  alignas(128) slab_links all;     // the list of all its slabs
  slab_links with_returned;        // the list of slabs with returned pages
  std::bitset<pages_max> returned; // pages that the system has

  // While `trim` counts:
  bool counted = false;
  slab* next_counted = nullptr;
  spare_blocks going; // the blocks of pages that have no other block
  std::array<std::uint16_t, pages_max> spare_in_page{};

  static slab& of(void* block) noexcept {
    return *reinterpret_cast<slab*>(static_cast<std::byte*>(block) - behind_head(block));
  }
  static std::size_t behind_head(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block) & (slab_bytes - 1);
  }
};

/// Call from any thread.
class block_depot {
 public:
  static constexpr std::size_t batch = spare_blocks::batch;

  /// The memory of the depot, in bytes.
  struct amount {
    std::size_t held = 0;  ///< in pages that were cut and are not with the system
    std::size_t spare = 0; ///< of these, in blocks that lie in the depot, or that `trim` has taken out
  };

  void put_batch(free_block* first) noexcept {
    const std::scoped_lock lock(mutex_);
    spare_.put_batch(first);
  }
  void put_one(void* memory) noexcept {
    const std::scoped_lock lock(mutex_);
    spare_.put_one(memory);
  }
  void put(free_list blocks) noexcept {
    const std::scoped_lock lock(mutex_);
    while (blocks.top != nullptr) spare_.put_one(blocks.pop());
  }
  /// Takes a batch of blocks, and cuts new ones if too few are spare. Throws `std::bad_alloc`.
  free_list take_batch(std::size_t bytes, std::uint16_t node) {
    const std::scoped_lock lock(mutex_);
    while (spare_.batches == nullptr) spare_.put_one(cut(bytes, node));
    return spare_.take_batch();
  }

  /// Gives whole spare pages back to the system if more than `keep` bytes are spare. `bytes`: the size of a
  /// block. Leaves off if `stop` returns true, and asks it every 4,096 blocks and at each slab that it gives
  /// back. Returns the pages that the system refused to take. Call from one thread at a time. Cost: some ns
  /// for each spare block, without the lock; some 100 ns for each slab with it.
  std::size_t trim(std::size_t bytes, std::size_t keep, const std::function<bool()>& stop) noexcept;

  amount count(std::size_t bytes) noexcept;

  /// Returns whether all blocks are here.
  bool is_whole() noexcept {
    const std::scoped_lock lock(mutex_);
    return spare_.size() == cut_;
  }
  /// Unmaps the slabs. Call when it is whole, and no thread uses it any more.
  void unmap() noexcept;

 private:
  std::byte* cut(std::size_t bytes, std::uint16_t node);
  std::byte* cut_returned(std::size_t bytes) noexcept;
  void new_slab(std::size_t bytes, std::uint16_t node);
  bool count_spare(const spare_blocks& all, slab*& counted, const std::function<bool()>& stop) const noexcept;
  bool part(spare_blocks& all, spare_blocks& stay, std::size_t bytes,
            const std::function<bool()>& stop) const noexcept;
  bool claim_whole(slab& s, std::size_t bytes) noexcept;
  std::size_t return_pages(slab& s, std::size_t bytes, spare_blocks& stay) noexcept;

  mutex mutex_; // guards what follows
  spare_blocks spare_;
  std::byte* uncut_ = nullptr; // of the newest slab
  std::byte* end_ = nullptr;
  std::byte* recut_ = nullptr; // of a page that the system had
  std::byte* recut_end_ = nullptr;
  slab* returned_ = nullptr;  // slabs with such pages
  slab* slabs_ = nullptr;     // all of them
  std::size_t cut_ = 0;       // blocks that are spare or in use
  std::size_t taken_out_ = 0; // spare blocks that a trim has now
  std::size_t pages_ = 0;     // of all slabs, without those that the system has
};

} // namespace corewise::detail
