#include "base/faults.hpp"

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

// Recycled blocks for closures and coroutine frames.
//
//     thread's cache ──full──► depot of its node ──► another thread's cache on that node
//
// A producer outside allocates and a worker frees, so blocks wander. They come back in batches through the
// depot of the memory node that they lie on, and a thread takes a lock at most once in `batch` blocks. The
// head of the slab from which a block was cut says which node that is; slabs are aligned to their size. Pages
// are never given back: the depots hold as many blocks as were in flight at the peak.
//
// A batch is 32 blocks of any size. With another number for large blocks, a thread would have to look the
// number up whenever it gives a small one back. So a thread keeps up to 64 blocks of 4096 bytes.
//
// A new slab is only addresses. Blocks are cut from it by the batch, when no thread has a spare one. So no
// page is touched before it is needed, and a thread waits for no page faults other than its own.
//
// The child of a process fork begins with depots of its own: threads that the child does not have may hold
// the locks of its parent's depots.
//
// Under AddressSanitizer every block is allocated plainly, so that the sanitizer sees a use after the end of
// a task.

#if defined(__SANITIZE_ADDRESS__)
#define COREWISE_PLAIN_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COREWISE_PLAIN_BLOCKS 1
#endif
#endif

namespace corewise::detail {

void* acquire_large(std::size_t bytes) { return ::operator new(bytes); }
void release_large(void* memory, std::size_t bytes) noexcept { ::operator delete(memory, bytes); }

#ifdef COREWISE_PLAIN_BLOCKS

void* acquire_block(std::size_t size_class) {
  return ::operator new(block_sizes[size_class], std::align_val_t{block_alignment});
}

void* try_acquire_block(std::size_t size_class) noexcept {
  if (refuses_blocks()) return nullptr;
  return ::operator new(block_sizes[size_class], std::align_val_t{block_alignment}, std::nothrow);
}

void release_block(void* memory, std::size_t size_class) noexcept {
  ::operator delete(memory, block_sizes[size_class], std::align_val_t{block_alignment});
}

#else

namespace {

constexpr std::size_t batch = 32;
constexpr std::size_t slab_bytes = std::size_t{1} << 20;
constexpr std::size_t nodes_max = 1024;

/// The head of each slab.
struct alignas(block_alignment) slab {
  std::uint16_t node;

  static const slab& of(const void* block) noexcept {
    const std::size_t behind_head = reinterpret_cast<std::uintptr_t>(block) & (slab_bytes - 1);
    return *reinterpret_cast<const slab*>(static_cast<const std::byte*>(block) - behind_head);
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

/// The spare blocks of one size on one memory node: whole batches and a rest.
class depot {
 public:
  void put_batch(free_block* first) noexcept {
    const std::scoped_lock lock(mutex_);
    first->next_batch = batches_;
    batches_ = first;
  }

  void put_one(void* memory) noexcept {
    const std::scoped_lock lock(mutex_);
    add(memory);
  }

  /// Takes a batch of blocks, and cuts new ones if too few are spare. Throws `std::bad_alloc`.
  free_list take_batch(std::size_t bytes, std::uint16_t node) {
    const std::scoped_lock lock(mutex_);
    while (batches_ == nullptr) add(cut(bytes, node));
    free_block* first = batches_;
    batches_ = first->next_batch;
    return {first, batch};
  }

 private:
  void add(void* memory) noexcept {
    rest_.push(memory);
    if (rest_.size < batch) return;
    rest_.top->next_batch = batches_;
    batches_ = rest_.top;
    rest_ = {};
  }

  /// Cuts a block that no thread has had yet. Its page lies on the node of the thread that touches it first:
  /// the caller's.
  std::byte* cut(std::size_t bytes, std::uint16_t node) {
    // Each block lies at a multiple of its size, so that none lies across two pages: a store across two pages
    // costs more than all else here.
    static_assert(sizeof(slab) <= block_sizes[0]);
    if (uncut_ == end_) {
      uncut_ = map_slab();
      end_ = uncut_ + slab_bytes;
      ::new (uncut_) slab{node};
      uncut_ += bytes;
    }
    return std::exchange(uncut_, uncut_ + bytes);
  }

  /// Maps a slab: maps twice the room, and unmaps the parts outside the aligned half.
  static std::byte* map_slab() {
    void* room = ::mmap(nullptr, 2 * slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    auto* begin = static_cast<std::byte*>(room);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) & (slab_bytes - 1);
    if (before != 0) ::munmap(begin, before);
    ::munmap(begin + before + slab_bytes, slab_bytes - before);
    return begin + before;
  }

  mutex mutex_;
  free_block* batches_ = nullptr;
  free_list rest_;
  std::byte* uncut_ = nullptr; // of the newest slab
  std::byte* end_ = nullptr;
};

using node_depots = std::array<depot, block_classes>;

constinit std::array<atomic<node_depots*>, nodes_max> all_depots{};

const bool child_forgets = [] {
  const auto forget = [] {
    for (auto& place : all_depots)
      place.store(nullptr, std::memory_order_relaxed); // the child has one thread
  };
  return ::pthread_atfork(nullptr, nullptr, forget) == 0;
}();

/// Returns the depots of a node. Makes them at their first use and never destroys them: threads may outlive
/// static objects.
///
/// | tag    | release site   | acquire site         | publishes              | weakened                     |
/// |--------|----------------|----------------------|------------------------|------------------------------|
/// | depots | depots_of: CAS | depots_of: load, CAS | the depots of one node | a thread locks one half-made |
node_depots& depots_of(std::uint16_t node) {
  static_cast<void>(child_forgets);
  auto& place = all_depots[node];
  if (node_depots* there = place.load(std::memory_order_acquire)) return *there; // pairs: depots
  auto* mine = new node_depots;
  node_depots* expected = nullptr;
  if (place.compare_exchange_strong(expected, mine, std::memory_order_acq_rel, // pairs: depots
                                    std::memory_order_acquire))
    return *mine;
  delete mine;
  return *expected;
}

std::uint16_t this_node() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  if (::getcpu(&cpu, &node) != 0 || node >= nodes_max) return 0;
  return static_cast<std::uint16_t>(node);
}

/// The node of a thread that has no cache yet, or, at the thread's end, has it no more.
constexpr std::uint16_t nowhere = nodes_max;

/// One thread's blocks: up to two batches of each size, so that a thread that alternates between taking and
/// giving does not visit the depot each time. It has no constructor and no destructor, for which each access
/// would have to check.
struct block_cache {
  std::uint16_t home = nowhere;
  std::array<free_list, block_classes> lists;
  std::array<free_list, block_classes> spare; // a whole batch or nothing: partly used ones are in `lists`
};
[[gnu::tls_model("initial-exec")]] constinit thread_local block_cache cache{};
[[gnu::tls_model("initial-exec")]] constinit thread_local bool cache_gone = false;

/// Gives the blocks back when the thread ends.
struct cache_end {
  ~cache_end() {
    cache_gone = true;
    const std::uint16_t home = std::exchange(cache.home, nowhere);
    for (std::size_t c = 0; c < block_classes; ++c)
      for (free_list* list : {&cache.lists[c], &cache.spare[c]})
        while (list->top != nullptr) depots_of(home)[c].put_one(list->pop());
  }
};

/// Opens the calling thread's cache. Returns whether the thread has one from now on.
bool open_cache() noexcept {
  if (cache.home != nowhere) return true;
  if (cache_gone) return false;
  thread_local cache_end at_end;
  static_cast<void>(at_end);
  cache.home = this_node();
  return true;
}

void* take_alone(std::size_t size_class) {
  const std::uint16_t home = this_node();
  depot& from = depots_of(home)[size_class];
  free_list list = from.take_batch(block_sizes[size_class], home);
  void* memory = list.pop();
  while (list.top != nullptr) from.put_one(list.pop());
  return memory;
}

// These are functions of their own, so that the short ways save no registers for them.
[[gnu::noinline, gnu::cold]] void* take_slowly(std::size_t size_class) {
  if (!open_cache()) return take_alone(size_class);
  free_list& list = cache.lists[size_class];
  list = std::exchange(cache.spare[size_class], {});
  if (list.top == nullptr)
    list = depots_of(cache.home)[size_class].take_batch(block_sizes[size_class], cache.home);
  return list.pop();
}

[[gnu::noinline, gnu::cold]] void* try_take_slowly(std::size_t size_class) noexcept {
  try {
    return take_slowly(size_class);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

[[gnu::noinline, gnu::cold]] void give_slowly(void* memory, std::size_t size_class) noexcept {
  const std::uint16_t home = slab::of(memory).node;
  if (!open_cache() || home != cache.home) return depots_of(home)[size_class].put_one(memory);
  free_list& list = cache.lists[size_class];
  if (list.size == batch) {
    free_list& spare = cache.spare[size_class];
    if (spare.size == batch) depots_of(home)[size_class].put_batch(spare.top);
    spare = std::exchange(list, {});
  }
  list.push(memory);
}

} // namespace

void* acquire_block(std::size_t size_class) {
  free_list& list = cache.lists[size_class];
  if (list.top == nullptr) [[unlikely]]
    return take_slowly(size_class);
  return list.pop();
}

void* try_acquire_block(std::size_t size_class) noexcept {
  if (refuses_blocks()) return nullptr;
  free_list& list = cache.lists[size_class];
  if (list.top == nullptr) [[unlikely]]
    return try_take_slowly(size_class);
  return list.pop();
}

void release_block(void* memory, std::size_t size_class) noexcept {
  free_list& list = cache.lists[size_class];
  if (slab::of(memory).node != cache.home || list.size == batch) [[unlikely]]
    return give_slowly(memory, size_class);
  list.push(memory);
}

#endif

} // namespace corewise::detail
