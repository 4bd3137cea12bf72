#include "base/faults.hpp"
#include "base/process_fork.hpp"
#include "base/thread_end.hpp"
#include "memory/block_depot.hpp"
#include "memory/block_memory.hpp"

#include <corewise/engine/detail/task_blocks.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <utility>

// Recycled blocks for closures and coroutine frames.
//
//     thread's cache ──full──► depot of its node ──► another thread's cache on that node
//
// A producer outside allocates and a worker frees, so blocks wander. They come back in batches through the
// depot of the memory node that they lie on. The head of the slab from which a block was cut says which node
// that is; slabs are aligned to their size. Blocks of other nodes wait until the thread has a batch of them,
// whatever their nodes. So a thread takes a lock at most once in `batch` blocks of its own node, and each
// other node's lock at most once in `batch` blocks of others. Memory that a burst took goes back to the system at
// rest (`trim_blocks`).
//
// A batch is 32 blocks of any size. With another number for large blocks, a thread would have to look the
// number up whenever it gives a small one back. So a thread keeps up to 95 blocks of 4096 bytes.
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

void* acquire_block_at(std::size_t list) {
  const std::size_t bytes = block_sizes[list / block_list_bytes];
  return ::operator new(bytes, std::align_val_t{bytes});
}

void* try_acquire_block_at(std::size_t list) noexcept {
  if (refuses_blocks()) return nullptr;
  const std::size_t bytes = block_sizes[list / block_list_bytes];
  return ::operator new(bytes, std::align_val_t{bytes}, std::nothrow);
}

void release_block_at(void* memory, std::size_t list) noexcept {
  const std::size_t bytes = block_sizes[list / block_list_bytes];
  ::operator delete(memory, bytes, std::align_val_t{bytes});
}

void trim_blocks(std::size_t /*keep*/, const std::function<bool()>& /*stop*/) noexcept {}
block_memory count_block_memory() noexcept { return {}; }

#else

namespace {

constexpr std::size_t batch = block_depot::batch;
constexpr std::size_t nodes_max = 1024;

struct node_depots {
  const std::uint32_t process = process_number();
  std::array<block_depot, block_classes> of;
};

constinit std::array<atomic<node_depots*>, nodes_max> all_depots{};

/// The process in which a thread trims. This is no mutex: a process fork may come while its parent trims.
///
/// | tag     | release site       | acquire site          | publishes            | weakened            |
/// |---------|--------------------|-----------------------|----------------------|---------------------|
/// | trimmed | trim_blocks: store | trim_blocks: exchange | the counts of slabs, | a trim goes on with |
/// |         |                    |                       | set back to 0        | older counts        |
constinit atomic<std::uint32_t> trims_in{0};

constinit atomic<std::uint64_t> refused_pages{0}; // relaxed: a number for people

/// Returns the depots of a node. Makes them at their first use in a process and never destroys them: threads
/// may outlive static objects. Takes no lock and no memory from elsewhere: after `_Fork` that might wait for
/// ever.
///
/// | tag    | release site   | acquire site         | publishes              | weakened                     |
/// |--------|----------------|----------------------|------------------------|------------------------------|
/// | depots | depots_of: CAS | depots_of: load, CAS | the depots of one node | a thread locks one half-made |
std::array<block_depot, block_classes>& depots_of(std::uint16_t node) {
  auto& known = all_depots[node];
  node_depots* there = known.load(std::memory_order_acquire); // pairs: depots
  if (there != nullptr && there->process == process_number()) return there->of;
  auto* const mine = ::new (map_pages(sizeof(node_depots))) node_depots;
  if (known.compare_exchange_strong(there, mine, std::memory_order_acq_rel, // pairs: depots
                                    std::memory_order_acquire))             // pairs: depots
    return mine->of;
  ::munmap(mine, sizeof *mine);
  return there->of;
}

template <class F> void for_each_depot(const F& f) noexcept {
  for (auto& known : all_depots)
    if (node_depots* const there = known.load(std::memory_order_acquire); // pairs: depots
        there != nullptr && there->process == process_number())
      for (std::size_t c = 0; c < block_classes; ++c) f(there->of[c], block_sizes[c]);
}

std::uint16_t this_node() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  if (::getcpu(&cpu, &node) != 0 || node >= nodes_max) return 0;
  return static_cast<std::uint16_t>(node);
}

/// The node of a thread that has no cache yet, or, at the thread's end, has it no more.
constexpr std::uint16_t nowhere = nodes_max;

/// A thread's blocks of other nodes, less than a batch of each size. It lies in a block of its own: bytes of a thread's
/// static memory are scarce (ADR 0023).
struct away_blocks {
  std::array<free_block*, block_classes> first{};
  std::array<std::uint8_t, block_classes> size{};
};
static_assert(sizeof(away_blocks) <= block_sizes[0] && alignof(away_blocks) <= block_alignment);

/// A stack of at most a batch. It counts down, so that one instruction counts a block and tells whether it was too many.
struct cached_blocks {
  free_block* top = nullptr;
  std::size_t room = batch + 1; // how many blocks more would be one too many

  /// Pushes a block, unless the list was full. Then it must be made anew.
  bool try_push(void* memory) noexcept {
    if (--room == 0) [[unlikely]]
      return false;
    top = linked(memory, top);
    return true;
  }
  void* pop() noexcept {
    free_block* const b = top;
    top = b->next;
    ++room;
    return b;
  }
};

/// One thread's blocks: up to two batches of each size, so that a thread that alternates between taking and
/// giving does not visit the depot each time, and those of other nodes. It has no constructor and no
/// destructor, for which each access would have to check.
struct block_cache {
  std::uint16_t home = nowhere;
  std::array<cached_blocks, block_classes> lists;
  std::array<free_block*, block_classes> spare; // a whole batch or nothing: partly used ones are in `lists`
  away_blocks* away;                            // null: it has had none yet
};
[[gnu::tls_model("initial-exec")]] constinit thread_local block_cache cache{};

static_assert(sizeof(cached_blocks) == block_list_bytes);
cached_blocks& list_at(std::size_t bytes) noexcept {
  return *reinterpret_cast<cached_blocks*>(reinterpret_cast<std::byte*>(cache.lists.data()) + bytes);
}

/// The caches of all threads.
///
/// | tag    | release site           | acquire site    | publishes                  | weakened                  |
/// |--------|------------------------|-----------------|----------------------------|---------------------------|
/// | closed | close_cache: fetch_sub | slabs_end: load | a thread's last use of the | the slabs are unmapped    |
/// |        |                        |                 | depots                     | under a thread that gives |
/// |        |                        |                 |                            | its last block back       |
constinit atomic<std::uint32_t> caches{0};

/// Gives blocks back to the depots of their nodes, with one lock for each of these.
void give_each(free_block* first, std::size_t size_class) noexcept {
  while (first != nullptr) {
    const std::uint16_t node = slab::of(first).node;
    free_list of_node;
    free_list others;
    while (first != nullptr) {
      free_block* const b = std::exchange(first, first->next);
      (slab::of(b).node == node ? of_node : others).push(b);
    }
    depots_of(node)[size_class].put(of_node);
    first = others.top;
  }
}

/// Gives the calling thread's blocks back, if it has a cache.
void close_cache() {
  const block_cache last = std::exchange(cache, {});
  if (last.home == nowhere) return;
  for (std::size_t c = 0; c < block_classes; ++c)
    for (free_block* top :
         {last.lists[c].top, last.spare[c], last.away != nullptr ? last.away->first[c] : nullptr})
      give_each(top, c);
  if (last.away != nullptr) give_each(::new (static_cast<void*>(last.away)) free_block{}, 0);
  caches.fetch_sub(1, std::memory_order_release); // pairs: closed
}

constinit thread_end closing(&close_cache);

/// Unmaps all slabs, at the end of the process or when a module is unloaded, unless some block or some
/// thread's cache is still in use: threads may outlive static objects.
struct slabs_end {
  ~slabs_end() {
    close_cache();
    if (caches.load(std::memory_order_acquire) != 0) return; // pairs: closed
    for (auto& known : all_depots)
      if (node_depots* const there = known.load(std::memory_order_relaxed)) {
        if (there->process != process_number()) continue;
        if (!std::ranges::all_of(there->of, &block_depot::is_whole)) continue;
        for (block_depot& d : there->of) d.unmap();
        ::munmap(there, sizeof *there);
        known.store(nullptr, std::memory_order_relaxed);
      }
  }
};
[[maybe_unused]] const slabs_end at_end;

/// Opens the calling thread's cache. Returns whether the thread has one from now on.
bool open_cache() noexcept {
  if (cache.home != nowhere) return true;
  if (!closing.note()) return false;
  caches.fetch_add(1, std::memory_order_relaxed);
  cache.home = this_node();
  return true;
}

void* take_alone(std::size_t size_class) {
  const std::uint16_t home = this_node();
  block_depot& from = depots_of(home)[size_class];
  free_list list = from.take_batch(block_sizes[size_class], home);
  void* memory = list.pop();
  from.put(list);
  return memory;
}

// These are functions of their own, so that the short ways save no registers for them.
[[gnu::noinline, gnu::cold]] void* take_slowly(std::size_t list_of) {
  const std::size_t size_class = list_of / block_list_bytes;
  if (!open_cache()) return take_alone(size_class);
  free_list more{std::exchange(cache.spare[size_class], nullptr), batch};
  if (more.top == nullptr)
    more = depots_of(cache.home)[size_class].take_batch(block_sizes[size_class], cache.home);
  cached_blocks& list = cache.lists[size_class] = {more.top, batch + 1 - more.size};
  return list.pop();
}

[[gnu::noinline, gnu::cold]] void* try_take_slowly(std::size_t list) noexcept {
  try {
    return take_slowly(list);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void give_away(void* memory, std::size_t size_class) noexcept {
  if (cache.away == nullptr) {
    void* const block = try_acquire_block(0);
    if (block == nullptr) return depots_of(slab::of(memory).node)[size_class].put_one(memory);
    cache.away = ::new (block) away_blocks;
  }
  free_block*& first = cache.away->first[size_class];
  first = linked(memory, first);
  if (++cache.away->size[size_class] != batch) return;
  cache.away->size[size_class] = 0;
  give_each(std::exchange(first, nullptr), size_class);
}

[[gnu::noinline, gnu::cold]] void give_slowly(void* memory, std::size_t list_of) noexcept {
  const std::size_t size_class = list_of / block_list_bytes;
  const std::uint16_t home = slab::of(memory).node;
  if (!open_cache()) return depots_of(home)[size_class].put_one(memory);
  if (home != cache.home) return give_away(memory, size_class);
  cached_blocks& list = cache.lists[size_class];
  if (list.room == 0) {
    free_block*& spare = cache.spare[size_class];
    if (spare != nullptr) depots_of(home)[size_class].put_batch(spare);
    spare = std::exchange(list, {}).top;
  }
  list.try_push(memory);
}

} // namespace

void* acquire_block_at(std::size_t list) {
  cached_blocks& own = list_at(list);
  if (own.top == nullptr) [[unlikely]]
    return take_slowly(list);
  return own.pop();
}

void* try_acquire_block_at(std::size_t list) noexcept {
  if (refuses_blocks()) return nullptr;
  cached_blocks& own = list_at(list);
  if (own.top == nullptr) [[unlikely]]
    return try_take_slowly(list);
  return own.pop();
}

void release_block_at(void* memory, std::size_t list) noexcept {
  if (slab::of(memory).node != cache.home || !list_at(list).try_push(memory)) [[unlikely]]
    give_slowly(memory, list);
}

void trim_blocks(std::size_t keep, const std::function<bool()>& stop) noexcept {
  const std::uint32_t here = process_number();
  if (trims_in.exchange(here, std::memory_order_acquire) == here) return; // pairs: trimmed
  std::size_t refused = 0;
  for_each_depot([&](block_depot& depot, std::size_t bytes) { refused += depot.trim(bytes, keep, stop); });
  trims_in.store(0, std::memory_order_release); // pairs: trimmed
  if (refused != 0) refused_pages.fetch_add(refused, std::memory_order_relaxed);
}

block_memory count_block_memory() noexcept {
  block_memory all{.refused_pages = refused_pages.load(std::memory_order_relaxed)};
  for_each_depot([&](block_depot& depot, std::size_t bytes) {
    const block_depot::amount of = depot.count(bytes);
    all.held_bytes += of.held;
    all.used_bytes += of.held - std::min(of.held, of.spare);
  });
  return all;
}

#endif

} // namespace corewise::detail
