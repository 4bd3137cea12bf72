#pragma once

#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/detail/recycled.hpp>
#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

// How several workers run a loop.
//
// Invariant: each element belongs to exactly one piece, and the list of pieces is in the order of the
// elements.
//
// A *piece* is the part of a loop that one worker goes through, from left to right. At intervals of about
// `loop_pace::between_looks_ns` the worker looks up. If its deque of forks is empty, so that a thief would
// find nothing, it splits the piece: the right half of the rest becomes a piece of its own and is forked. At
// the end of a piece the worker takes that half back, if no thief has it, and goes on as if it had never been
// split. So a loop is cut as often as a thief takes a part, and the caller need not say how small the parts
// should be.
//
//     0          at        end                          n
//     │ done ────►│ to do   │ forked ─────│ forked, stolen │    a piece, its last fork, and the fork before
//                           └ taken back; or stolen: then the piece ends
//
// The first piece begins where the loop was called. A loop that is over at its first look has not left that
// worker. A longer loop on a machine with several groups deals the rest over the groups, in order and by
// capacity. It sends each share to its group, half of the shares at a time, so that ten steps reach a
// thousand groups. The cuts depend on size and machine alone. So data that one loop wrote lies where the next
// loop comes for it.
//
// About every 200 us a piece gives way to other tasks, or after an eighth of the time that it has waited for them, 10 ms
// at most. Where an element takes longer than that, the piece would give way at each look. So the loop is dealt out
// before, and a piece that comes from the queue is split down to one element.
//
// Pieces are in a list in the order of their elements, so that their results can be combined in that order.
// Only the thread that runs a piece puts other pieces behind it. All pieces are kept until the loop has
// ended: an address that is passed to `take_back` is never another piece's.
//
// | tag    | release site            | acquire site | publishes                    | weakened           |
// |--------|-------------------------|--------------|------------------------------|--------------------|
// | looped | loop::arrive: open_ RMW | the same     | results, the list, the first | half a sum is read |
// |        |                         |              | error                        |                    |

namespace corewise::detail {

class loop;

/// The part of a loop, up to `end`, that belongs to a group.
struct loop_share {
  std::uint64_t end;
  group_id group;
};
/// All shares, in order. Those of up to 256 groups lie in a recycled block.
using loop_share_list = std::vector<loop_share, recycling_allocator<loop_share>>;

/// How many elements to do until the next look. Looks then cost next to nothing, and no other task waits long
/// for one.
class loop_pace {
 public:
  static constexpr std::uint64_t between_looks_ns = 10'000;

  /// Returns how many elements take about that time, if they take as long as those before.
  std::uint64_t elements() const noexcept { return elements_; }
  /// Notes that so many elements, one at least, took `ns`. The pace is at most eight times that number, for the
  /// next elements may take longer, and at least a 64th, for the thread may have lost its CPU meanwhile.
  void took(std::uint64_t done, std::uint64_t ns) noexcept {
    done = std::min(done, most_elements);
    const std::uint64_t least = std::max<std::uint64_t>(1, done / 64);
    elements_ =
        ns * 8 <= between_looks_ns ? done * 8 : std::clamp(done * between_looks_ns / ns, least, done * 8);
  }

 private:
  static constexpr std::uint64_t most_elements = std::uint64_t{1}
                                                 << 40; // `between_looks_ns` times it must fit

  std::uint64_t elements_ = 1;
};

/// How many elements a worker does between two readings of the clock, from where it comes to a piece: one at
/// first, for another worker may have found the pace at elements of another kind. Later half of what is left at
/// most, since what comes may take longer, or as many as take next to no time and are a small part of the loop.
class loop_stride {
 public:
  explicit loop_stride(std::uint64_t small_part) noexcept : small_part_(small_part) {}

  std::uint64_t next(std::uint64_t left, const loop_pace& pace) const noexcept {
    return std::min({left, pace.elements(), most_, std::max(left / 2, least_)});
  }
  /// Notes that so many elements took `ns`.
  void took(std::uint64_t done, std::uint64_t ns) noexcept {
    constexpr std::uint64_t no_time_ns = 250;
    done = std::min(done, std::uint64_t{1} << 40); // the products below must fit
    most_ = done * 8;
    least_ = std::clamp<std::uint64_t>(done * no_time_ns / std::max<std::uint64_t>(1, ns), 1,
                                       std::max<std::uint64_t>(1, small_part_));
  }

 private:
  const std::uint64_t small_part_;
  std::uint64_t most_ = 1;
  std::uint64_t least_ = 1;
};

/// A part of a loop.
struct loop_piece : coroutine_root { // without a coroutine: for the seat that it ran on last, and its class
  loop* all = nullptr;
  std::uint64_t at = 0; ///< the rest to do is from here up to `end`
  std::uint64_t end = 0;
  std::uint32_t share = 0; ///< which of the loop's shares it is, or the first if it stands for several ...
  std::uint32_t shares_end = 0; ///< ... up to this one, which it has not passed on yet
  loop_pace pace;
  std::chrono::steady_clock::time_point gave_way_at; ///< until it goes on; else its epoch
  loop_piece* next = nullptr;                        ///< the piece whose elements follow
  loop_piece* right = nullptr;                       ///< its right half, as it was forked last
  loop_piece* taken_back = nullptr;                  ///< `next`, if that is to be forked again

  /// Returns whether the piece stands for several shares.
  bool several() const noexcept { return shares_end > share + 1; }
};

/// The join of a loop, and the common part of its pieces. Lives in the frame of the coroutine that awaits the
/// loop.
class loop : public join_point {
 public:
  /// `given` says how the loop is dealt over the groups; null: by their capacities.
  loop(loop_piece& first, std::uint64_t size, std::stop_token stop,
       const loop_share_list* given) noexcept
      : first_(first), // which begins to live later
        size_(size),
        stop_(std::move(stop)),
        given_(given) {}

  /// Runs the calling worker's part of the loop. Returns the coroutine that goes on in place of the suspended
  /// parent. Throws as `suspend`.
  template <class Promise> std::coroutine_handle<> start(std::coroutine_handle<Promise> parent) {
    suspend(parent);
    return start_own_part();
  }

 protected:
  ~loop() = default;

  /// Throws the first exception. Returns whether every element had its turn. Call when all pieces have come.
  bool complete() const {
    if (error_) std::rethrow_exception(error_);
    return !cut_short_.load(std::memory_order_relaxed);
  }

 private:
  virtual void run(loop_piece& in, std::uint64_t from, std::uint64_t to) = 0;
  virtual loop_piece* make() = 0; // throws `std::bad_alloc`

  std::coroutine_handle<> start_own_part();
  bool work(loop_piece* p) noexcept;
  bool go_through(loop_piece*& p) noexcept;
  void begin_turn(loop_piece& p, worker& seat) noexcept;
  bool look_up(loop_piece*& p, std::chrono::steady_clock::time_point now, bool turn_is_over) noexcept;
  void run_checked(loop_piece& p, std::uint64_t to) noexcept;
  bool stopped() const noexcept { return failed_.load(std::memory_order_relaxed) || stop_.stop_requested(); }
  loop_piece* put_behind(loop_piece& p) noexcept;
  bool split(loop_piece& p) noexcept;
  loop_piece* spare(loop_piece& p) noexcept;
  bool take_back(loop_piece& p) noexcept;
  bool deal_out(loop_piece*& p) noexcept;
  bool note_shares(const loop_piece& whole) noexcept;
  std::uint64_t share_begin(std::uint32_t share) const noexcept;
  void stand_for(loop_piece& p, std::uint32_t share, std::uint32_t shares_end) const noexcept;
  void pass_on(loop_piece& p) noexcept;
  bool arrive() noexcept;
  static bool perform(task_header* t, task_action action);

  loop_piece& first_;
  std::uint64_t size_;
  std::stop_token stop_;
  const loop_share_list* given_;
  loop_share_list shares_;       // written before any piece is sent to a group
  std::uint64_t dealt_from_ = 0; // likewise: elements before this one are done
  bool dealt_ = false;           // only for the first piece
  atomic<std::uint32_t> open_{1};
  atomic<bool> failed_{false};    // relaxed: its setter writes the error, which `arrive` publishes
  atomic<bool> cut_short_{false}; // relaxed: published by `arrive`
  std::exception_ptr error_;
};

/// A loop with pieces of its own type.
template <class Piece> class loop_of : public loop {
 public:
  loop_of(std::uint64_t size, std::stop_token stop, const loop_share_list* given) noexcept
      : loop(first_piece_, size, std::move(stop), given) {}

 protected:
  ~loop_of() {
    for (loop_piece* p = first_piece_.next; p != nullptr;)
      recycled<Piece>::destroy(static_cast<Piece*>(std::exchange(p, p->next)));
  }

  /// Call when all pieces have come.
  Piece& first_piece() noexcept { return first_piece_; }

 private:
  loop_piece* make() final { return recycled<Piece>::make(); }

  Piece first_piece_;
};

/// Returns how a loop that the calling coroutine's engine runs is dealt over its groups. Call in an engine's
/// tasks only, else it throws `std::logic_error`. Throws `std::bad_alloc`.
loop_share_list loop_shares_here(std::uint64_t size);

} // namespace corewise::detail
