#include "runtime/runtime.hpp"

#include <corewise/engine/detail/loop.hpp>

namespace corewise::detail {

namespace {

/// A piece gives way to other tasks after an eighth of the time for which it has waited for them last, within two bounds.
/// So a round of other tasks takes an eighth longer at most, and a loop beside long ones is not a hundred times slower: no
/// other worker helps it where all have work. With a greater part, some loops on one worker would wait for the turns of each
/// other, and lengthen their own, until all are at the upper bound.
constexpr std::chrono::nanoseconds least_turn = std::chrono::microseconds{200};
constexpr std::chrono::nanoseconds longest_turn = std::chrono::milliseconds{10};
constexpr int part_of_wait = 8;
/// The time between two looks is about this, and not less than half of it.
constexpr std::chrono::nanoseconds before_look{loop_pace::between_looks_ns / 2};

/// Returns how long the turn of a piece is that goes on now.
std::chrono::nanoseconds turn_of(loop_piece& p, monotonic::time_point now) noexcept {
  const monotonic::time_point since = std::exchange(p.gave_way_at, {});
  if (since == monotonic::time_point()) return least_turn; // it has not waited
  return std::clamp<std::chrono::nanoseconds>((now - since) / part_of_wait, least_turn, longest_turn);
}

/// Returns whether thieves find nothing of what the loop could give them, and there are any. Cost: a load.
bool should_split(const loop_piece& p, worker& seat) noexcept {
  const bool empty = p.run_as == task_class::normal
                         ? seat.queues().forks.empty()
                         : !seat.engine().classes(seat.place().group).of(p.run_as).ready();
  return empty && p.engine->layout().size() != 1;
}

/// Returns whether other tasks should have their turn now.
bool in_the_way(const loop_piece& p, const worker& seat) noexcept {
  return p.run_as != task_class::latency && seat.others_are_due();
}

std::uint64_t ns(monotonic::duration d) noexcept {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(d).count());
}

} // namespace

std::coroutine_handle<> loop::start_own_part() {
  first_.all = this;
  first_.end = size_;
  first_.act = &perform;
  enlist(first_, given_here());
  coroutine_root* const root = this_execution.root;
  if (work(&first_)) return was_discarded() ? drop_parent() : resume_parent();
  this_execution.root = root; // of a task that may wait beneath
  return std::noop_coroutine();
}

bool loop::perform(task_header* t, task_action action) {
  if (action == task_action::identify) return this_execution.kind = "parallel loop", false;
  auto* const p = static_cast<loop_piece*>(t);
  loop& all = *p->all;
  if (action == task_action::discard) {
    all.note_discarded();
    return all.arrive() && all.discard_parent();
  }
  if (!all.work(p)) return false;
  return all.was_discarded() ? all.drop_parent_from_task() : all.resume_parent_from_task();
}

/// Runs a piece from its position to its end, unless it gives way. Returns whether it was the last piece of
/// all. After false, do not touch the loop again.
bool loop::work(loop_piece* p) noexcept {
  this_execution.root = nullptr; // the function that is called is no coroutine
  const value_chain within = std::exchange(this_execution.within, value_chain(this));
  const uncounted_transfers none_counted;
  bool gave_way = false;
  do {
    gave_way = !go_through(p);
  } while (!gave_way && p->at == p->end && take_back(*p));
  this_execution.within = within;
  if (gave_way) return false;
  if (p->at != p->end || p->several()) cut_short_.store(true, std::memory_order_relaxed);
  return arrive();
}

/// Goes to the present end of p, or of the piece that takes its place when the loop is dealt out. Returns
/// false if p gave way, and is another thread's.
bool loop::go_through(loop_piece*& p) noexcept {
  if (worker* const seat = this_execution.seat) {
    p->last = seat;
    begin_turn(*p, *seat);
  }
  monotonic::time_point now = monotonic::now();
  const monotonic::time_point until = now + turn_of(*p, now);
  monotonic::time_point next_look = now + before_look;
  loop_stride stride(size_ / (std::uint64_t{8} * p->engine->layout().size()));
  while (p->at != p->end && !stopped()) {
    const std::uint64_t left = p->end - p->at;
    const std::uint64_t planned = stride.next(left, p->pace);
    run_checked(*p, p->at + planned);
    if (left == planned) break;
    const monotonic::time_point before = std::exchange(now, monotonic::now());
    const std::uint64_t took = ns(now - before);
    p->pace.took(planned, took);
    stride.took(planned, took);
    if (now < next_look) continue;
    next_look = now + before_look;
    if (!look_up(p, now, now >= until)) return false;
  }
  return true;
}

/// Prepares a piece at its beginning, or when it goes on: it is worth splitting, if it has a pace, and will not be
/// dealt out.
void loop::begin_turn(loop_piece& p, worker& seat) noexcept {
  if (stopped()) return;
  pass_on(p);
  if (p.at == 0 || (&p == &first_ && !dealt_) || !should_split(p, seat)) return;
  while (split(p) && p.pace.elements() == 1) { // each element may be long: other workers get the rest at once
  }
}

/// Looks up: deals out, gives way or splits. Returns false if the piece gave way.
bool loop::look_up(loop_piece*& p, monotonic::time_point now, bool turn_is_over) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && deal_out(p)) pass_on(*p);
  if (seat == nullptr || turn_is_over || in_the_way(*p, *seat)) {
    static_cast<void>(take_back(*p)); // or the worker would begin with that half now
    p->gave_way_at = now;
    p->engine->give_way(*p);
    return false;
  }
  if (should_split(*p, *seat)) static_cast<void>(split(*p));
  return true;
}

void loop::run_checked(loop_piece& p, std::uint64_t to) noexcept {
  try {
    run(p, p.at, to);
    p.at = to;
  } catch (...) {
    if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
  }
}

// --- splitting

/// Puts a new piece behind p. Returns null if there is no memory; then p goes on as it is.
loop_piece* loop::put_behind(loop_piece& p) noexcept {
  loop_piece* added = nullptr;
  try {
    added = make();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  added->all = this;
  added->act = &perform;
  enlist(*added, given_here());
  added->pace = p.pace;
  added->next = std::exchange(p.next, added);
  open_.fetch_add(1, std::memory_order_relaxed); // p counts, so the loop does not end meanwhile
  return added;
}

/// Splits a piece and forks its right half. Returns false if there is no memory, or the piece is over before the next look,
/// and so not worth it.
bool loop::split(loop_piece& p) noexcept {
  const std::uint64_t left = p.end - p.at;
  if (left <= p.pace.elements()) return false;
  loop_piece* const right = spare(p);
  if (right == nullptr) return false;
  right->end = p.end;
  right->at = p.end = p.at + (left + 1) / 2;
  p.right = right;
  fork_task(*right);
  return true;
}

/// Returns a new piece behind p, or the one there that was taken back.
loop_piece* loop::spare(loop_piece& p) noexcept {
  loop_piece* const right = std::exchange(p.taken_back, nullptr);
  if (right == nullptr) return put_behind(p);
  enlist(*right, given_here());
  right->pace = p.pace;
  open_.fetch_add(1, std::memory_order_relaxed); // p counts
  return right;
}

/// Takes back the right half, if no thief has it. Returns whether it did. Also called before p has come to
/// its own end.
bool loop::take_back(loop_piece& p) noexcept {
  loop_piece* const right = std::exchange(p.right, nullptr);
  if (right == nullptr || !detail::take_back(right)) return false;
  p.end = right->end;
  right->at = right->end;
  p.taken_back = right;
  open_.fetch_sub(1, std::memory_order_relaxed); // p counts
  return true;
}

// --- groups

/// Deals out the rest of the loop at the first look. Returns whether it did: then p is the share of the
/// calling worker's group, and stands for the shares behind it.
bool loop::deal_out(loop_piece*& p) noexcept {
  if (p != &first_ || dealt_ || p->end - p->at <= p->pace.elements()) return false;
  dealt_ = true;
  if (p->engine->groups().size() == 1 || p->run_as != task_class::normal) return false;
  if (!note_shares(*p)) return false;
  const group_id here = this_execution.seat->place().group;
  const auto not_before = std::ranges::lower_bound(shares_, here, {}, &loop_share::group);
  const auto all = static_cast<std::uint32_t>(shares_.size());
  const std::uint32_t mine = std::min(static_cast<std::uint32_t>(not_before - shares_.begin()), all - 1);
  loop_piece* const own = put_behind(*p);
  if (own == nullptr) return false;
  loop_piece* const before = mine != 0 ? put_behind(*p) : nullptr;
  stand_for(*own, before != nullptr ? mine : 0, all);
  if (before != nullptr) {
    stand_for(*before, 0, mine);
    place_child(*before, shares_.front().group);
  }
  first_.end = first_.at;
  open_.fetch_sub(1, std::memory_order_relaxed); // the first piece has ended, and own counts
  p = own;
  return true;
}

bool loop::note_shares(const loop_piece& whole) noexcept {
  try {
    const bool fits = given_ != nullptr && !given_->empty() && given_->back().end == size_;
    shares_ = fits ? *given_ : whole.engine->loop_shares(size_);
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (loop_share& s : shares_) s.end = std::max(s.end, whole.at); // done elements belong to no share
  dealt_from_ = whole.at;
  return shares_.size() > 1;
}

std::uint64_t loop::share_begin(std::uint32_t share) const noexcept {
  return share == 0 ? dealt_from_ : shares_[share - 1].end;
}

void loop::stand_for(loop_piece& p, std::uint32_t share, std::uint32_t shares_end) const noexcept {
  p.at = share_begin(share);
  p.end = shares_[share].end;
  p.share = share;
  p.shares_end = shares_end;
}

/// Keeps the first of the shares that p stands for, and sends the rest on, the last half first.
void loop::pass_on(loop_piece& p) noexcept {
  while (p.several()) {
    const std::uint32_t middle = p.share + (p.shares_end - p.share + 1) / 2;
    if (share_begin(middle) != shares_[p.shares_end - 1].end) {
      loop_piece* const half = put_behind(p);
      if (half == nullptr) {
        p.end = shares_[p.shares_end - 1].end;
        p.shares_end = p.share + 1;
        return;
      }
      stand_for(*half, middle, p.shares_end);
      place_child(*half, shares_[middle].group);
    }
    p.shares_end = middle;
  }
}

/// Counts an arrival. Returns whether the caller is the last.
bool loop::arrive() noexcept {
  return open_.load(std::memory_order_acquire) == 1 ||       // pairs: looped
         open_.fetch_sub(1, std::memory_order_acq_rel) == 1; // pairs: looped
}

} // namespace corewise::detail
