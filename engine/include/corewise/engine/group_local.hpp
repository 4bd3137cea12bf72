#pragma once

#include <corewise/engine/detail/lock.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace corewise {

/// Which workers share one object of a `group_local`.
enum class local_to : std::uint8_t {
  group, ///< the workers of a locality group
  node,  ///< the workers of a NUMA node
};

namespace detail {

// One `holder` for each group, or node, in which an object may be built. Invariant: each builds its object at
// most once.
//
// | tag   | release site             | acquire site                    | publishes  | weakened             |
// |-------|--------------------------|---------------------------------|------------|----------------------|
// | built | holder::build: its store  | holder::built; the lock of build | the object | a half-made one      |
class local_objects {
 public:
  class holder {
   public:
    /// Returns the object, or null if it is not built yet.
    void* built() const noexcept { return object_.load(std::memory_order_acquire); } // pairs: built
    /// Builds the object if no thread has: `make(memory)` builds it and returns its address. Throws what
    /// `make` throws; then another thread may try.
    template <class Make> void* build(const Make& make) {
      const std::scoped_lock lock(making_);
      if (void* there = built()) return there;
      void* made = make(*memory_);
      object_.store(made, std::memory_order_release); // pairs: built
      return made;
    }
    std::pmr::memory_resource& memory() const noexcept { return *memory_; }
    /// The first of the groups that share it.
    group_id first() const noexcept { return first_; }

   private:
    friend local_objects;
    detail::atomic<void*> object_{nullptr};
    std::shared_ptr<std::pmr::memory_resource> memory_; // it may outlive the engine
    group_id first_;
    detail::mutex making_;
  };

  local_objects(engine& e, local_to per);

  /// Throws `std::out_of_range`.
  holder& of(group_id g) const { return holders_[holder_of_.at(g.value)]; }
  /// Returns the `holder` of the calling thread. Call while the engine lives.
  holder& here() const noexcept;
  std::span<holder> all() const noexcept { return {holders_.get(), count_}; }

 private:
  const runtime& engine_;
  std::vector<std::uint32_t> holder_of_; // by group
  std::size_t count_ = 0;
  std::unique_ptr<holder[]> holders_;
};

} // namespace detail

/// One `T` for each locality group, or NUMA node, of an engine, in memory of that node: for caches, counters
/// and pools that workers near each other share, and no others. Each is built when a thread first asks for
/// it.
///
///     corewise::group_local<lookup_cache> caches(engine);
///     caches.local().find(key); // in a task
///
/// `T` itself must keep several workers of a group from using it at the same time. The engine must live as
/// long as `local` is called; other calls, destruction included, may come after the engine's end.
template <class T> class group_local {
 public:
  /// Builds each `T` from nothing, or, if it takes an allocator of `std::pmr`, with the allocator of the
  /// group's memory.
  explicit group_local(engine& e, local_to per = local_to::group)
      : group_local(
            e,
            [](std::pmr::memory_resource& memory) {
              return std::make_obj_using_allocator<T>(std::pmr::polymorphic_allocator<>(&memory));
            },
            per) {}
  /// Builds each `T` with `make(memory)`, or `make()`; `make` can be copied. The first thread that asks calls
  /// it, under a lock of that `T`.
  template <class Make>
    requires std::is_invocable_r_v<T, Make&> || std::is_invocable_r_v<T, Make&, std::pmr::memory_resource&>
  group_local(engine& e, Make make, local_to per = local_to::group) : holders_(e, per) {
    if constexpr (std::is_invocable_v<Make&, std::pmr::memory_resource&>)
      make_ = std::move(make);
    else
      make_ = [make = std::move(make)](std::pmr::memory_resource&) mutable { return make(); };
  }
  group_local(const group_local&) = delete;
  group_local& operator=(const group_local&) = delete;
  ~group_local() {
    for (holder& p : holders_.all())
      if (T* built = static_cast<T*>(p.built()))
        std::pmr::polymorphic_allocator<>(&p.memory()).delete_object(built);
  }

  /// Returns the `T` of the calling worker's group; for a thread that is not the engine's, that of the group
  /// that has the CPU on which it runs. In a coroutine it may be another one after each `co_await`. Call from
  /// any thread. Cost: some ns. Throws what building throws.
  T& local() { return in(holders_.here()); }
  /// Returns the `T` of a group. Call from any thread. Throws `std::out_of_range`, and what building throws.
  T& at(group_id g) { return in(holders_.of(g)); }
  /// Calls `f(T&)` for each one that has been built. Call from any thread; some may be built meanwhile.
  template <class F> void for_each(F f) {
    for (const holder& p : holders_.all())
      if (T* built = static_cast<T*>(p.built())) f(*built);
  }

 private:
  using holder = detail::local_objects::holder;

  T& in(holder& p) {
    void* built = p.built();
    if (built == nullptr) [[unlikely]]
      built = p.build([this](std::pmr::memory_resource& memory) { return build(memory); });
    return *static_cast<T*>(built);
  }
  void* build(std::pmr::memory_resource& memory) {
    void* const room = memory.allocate(sizeof(T), alignof(T));
    try {
      return ::new (room) T(make_(memory));
    } catch (...) {
      memory.deallocate(room, sizeof(T), alignof(T));
      throw;
    }
  }

  detail::local_objects holders_;
  std::function<T(std::pmr::memory_resource&)> make_;
};

} // namespace corewise
