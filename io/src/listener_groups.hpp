#pragma once

#include <corewise/io/listen.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace corewise::io::detail {

/// A group to which connections of a listener go.
struct listener_group {
  listener_group(group_id g, executor e) noexcept
      : id(g),
        here(std::move(e)),
        of_service(static_cast<group_context&>(here.query(asio::execution::context)).connections()) {}

  const group_id id;
  const executor here;
  connection_counts& of_service; // of this group
  // Relaxed: numbers.
  atomic<std::int64_t> busy_ns{0};        // of its workers, at the last look
  atomic<std::int64_t> busy_lately_ns{0}; // between the last two looks
  alignas(64) connection_counts own;

  void add(atomic<std::uint64_t> connection_counts::* number, std::int64_t n = 1) noexcept {
    for (connection_counts* to : {&own, &of_service})
      (to->*number).fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
  }
};

/// The groups of a listener, and to which of them the next connection goes. Call from any thread.
class listener_groups {
 public:
  explicit listener_groups(service& io);

  /// Returns how many groups can have a socket of their own; they are the first ones. The others have headroom alone: they
  /// get connections once they have workers.
  std::size_t with_socket() const noexcept { return with_socket_; }
  listener_group& operator[](std::size_t i) const noexcept { return *groups_[i]; }

  /// Returns whether the group has workers now. Cost: two loads.
  bool is_active(const listener_group& g) const noexcept {
    return driving::capacity_now(driving::of(engine_), g.id) != 0;
  }
  /// Returns the lightest group (`listen_options::lightest`), of equal ones `own` or else the first. Cost: some loads for
  /// each group, once a second two for each worker.
  listener_group& lightest(listener_group& own) noexcept;

  /// Returns the numbers of that group; nothing: of all.
  listener_counts counts(std::optional<group_id> of) const noexcept;

 private:
  using load = std::pair<std::uint64_t, std::uint64_t>; // by connections, and of equal ones by busy time

  load load_of(const listener_group& g) const noexcept;
  void look_at_workers() noexcept;

  engine& engine_;
  std::vector<std::unique_ptr<listener_group>> groups_;
  std::size_t with_socket_ = 0;
  atomic<std::int64_t> looked_at_ns_{
      0}; // `coarse_now_ns`. Relaxed: the thread that replaces it looks, and writes numbers alone
};

} // namespace corewise::io::detail
