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
// `trim` counts the spare blocks of each page. It takes them out of the depot first, so that nobody waits for
// it: threads that want blocks meanwhile cut new ones. A slab of which every block is spare is unmapped, so
// its memory serves other sizes, too.

namespace corewise::detail {

inline constexpr std::size_t slab_bytes = std::size_t{1} << 20;

class block_depot;

/// Maps memory from the system. Throws `std::bad_alloc`.
std::byte* map_pages(std::size_t bytes);

/// The head of each slab, in the place of its first blocks. Slabs are aligned to their size.
struct alignas(128) slab {
  static constexpr std::size_t pages_max = slab_bytes / 4096;

  slab(std::uint16_t on, const block_depot* of_depot) noexcept : node(on), owner(of_depot) {}

  const std::uint16_t node;
  const block_depot* const owner; // another process's, if a parent has made the slab

  // The depot's lock guards these. They lie in other lines: each block that comes back looks at `node`.
  alignas(128) slab* next = nullptr; // in the list of all its slabs
  slab* before = nullptr;
  slab* next_returned = nullptr;   // in the list of slabs with returned pages
  std::bitset<pages_max> returned; // pages that the system has

  // While `trim` counts:
  bool counted = false;
  bool whole = false; // all of it goes
  slab* next_counted = nullptr;
  std::array<std::uint16_t, pages_max> spare_in_page{};

  static slab& of(void* block) noexcept {
    return *reinterpret_cast<slab*>(static_cast<std::byte*>(block) - behind_head(block));
  }
  static std::size_t behind_head(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block) & (slab_bytes - 1);
  }
};

struct free_block {
  free_block* next;       // the next block in one list
  free_block* next_batch; // in a batch's first block: the next batch in the depot
};

/// A stack of blocks with its length.
struct free_list {
  free_block* top = nullptr;
  std::size_t size = 0;

  void push(void* memory) noexcept {
    top = ::new (memory) free_block{top, nullptr};
    ++size;
  }
  void* pop() noexcept {
    free_block* b = top;
    top = b->next;
    --size;
    return b;
  }
};

/// Call from any thread.
class block_depot {
 public:
  /// The blocks of a batch.
  static constexpr std::size_t batch = 32;

  /// What the depot has, in bytes.
  struct amount {
    std::size_t held = 0;  ///< in pages that were cut and are not with the system
    std::size_t spare = 0; ///< of these, in blocks that lie in the depot
  };

  void put_batch(free_block* first) noexcept {
    const std::scoped_lock lock(mutex_);
    spare_.put_batch(first);
  }
  void put_one(void* memory) noexcept {
    const std::scoped_lock lock(mutex_);
    spare_.put_one(memory);
  }
  /// Takes a batch of blocks, and cuts new ones if too few are spare. Throws `std::bad_alloc`.
  free_list take_batch(std::size_t bytes, std::uint16_t node) {
    const std::scoped_lock lock(mutex_);
    while (spare_.batches == nullptr) spare_.put_one(cut(bytes, node));
    return spare_.take_batch();
  }

  /// Gives whole spare pages back to the system if more than `keep` bytes are spare. `bytes`: the size of a
  /// block. Leaves off if `stop` returns true before all spare blocks are counted. Returns the pages that the
  /// system refused to take. Call from one thread at a time. Cost: some ns for each spare block, most of it
  /// without the lock.
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
  /// Whole batches and a rest.
  struct spare_blocks {
    free_block* batches = nullptr;
    std::size_t batches_size = 0;
    free_list rest;

    std::size_t size() const noexcept { return batches_size * batch + rest.size; }
    void put_batch(free_block* first) noexcept {
      first->next_batch = batches;
      batches = first;
      ++batches_size;
    }
    void put_one(void* memory) noexcept {
      rest.push(memory);
      if (rest.size == batch) put_batch(std::exchange(rest, {}).top);
    }
    void take(spare_blocks& others) noexcept {
      while (others.batches != nullptr) put_batch(others.take_batch().top);
      while (others.rest.size != 0) put_one(others.rest.pop());
    }
    free_list take_batch() noexcept {
      free_block* first = batches;
      batches = first->next_batch;
      --batches_size;
      return {first, batch};
    }
    /// Calls f(block) for each, which may destroy it, until f returns false.
    template <class F> void visit(const F& f) const noexcept {
      bool more = true;
      const auto each = [&](free_block* b) {
        while (more && b != nullptr) more = f(std::exchange(b, b->next));
      };
      for (free_block* b = batches; more && b != nullptr;) {
        free_block* const next = b->next_batch;
        each(b);
        b = next;
      }
      each(rest.top);
    }
  };

  std::byte* cut(std::size_t bytes, std::uint16_t node);
  std::byte* cut_returned(std::size_t bytes) noexcept;
  void new_slab(std::size_t bytes, std::uint16_t node);
  bool claim_whole(slab& s, std::size_t bytes) noexcept;
  std::size_t return_pages(slab& s, std::size_t bytes) noexcept;
  void unlist_returned(slab& s) noexcept;
  void unlist(slab& s) noexcept;

  mutex mutex_; // guards what follows
  spare_blocks spare_;
  std::byte* uncut_ = nullptr; // of the newest slab
  std::byte* end_ = nullptr;
  std::byte* recut_ = nullptr; // of a page that the system had
  std::byte* recut_end_ = nullptr;
  slab* returned_ = nullptr; // slabs with such pages
  slab* slabs_ = nullptr;    // all of them
  std::size_t cut_ = 0;      // blocks that are spare or in use
  std::size_t pages_ = 0;    // of all slabs, without those that the system has
};

} // namespace corewise::detail
