#include "worker/worker.hpp"

#include "base/faults.hpp"
#include "worker/shared.hpp"

#include <corewise/policies/activity.hpp>
#include <corewise/policies/lifo_rules.hpp>

#include <cassert>

namespace corewise::detail {

namespace {

/// Publishing the load costs a few nanoseconds: with tasks from this time on it is done at each, else at each look at the
/// clock and at each sixteenth push.
constexpr std::uint64_t long_enough_ns = 1000;
constexpr std::uint64_t pushes_between_publishings = 16;

} // namespace

worker::worker(shared& engine, worker_id id, const queue_memory& memory)
    : engine_(engine),
      id_(id),
      queues_(memory, takers_),
      slot_(memory.slot),
      classes_(engine.classes(engine.layout()[id].group)),
      rng_(id.value + 1),
      takers_(engine.layout().size() == 1) {
  by_.take(engine.newest_rules());
  go_by_rules();
  plan_ = turn_plan(by().settings.injection.interval.min);
}

const worker_place& worker::place() const noexcept { return engine_.layout()[id_]; }

std::size_t worker::index_in_group() const noexcept {
  return id_.value - engine_.layout().of_group(place().group).front().id.value;
}

// --- the loop

bool worker::run() {
  for (;;) {
    task_header* t = std::exchange(came_round_, nullptr);
    if (t == nullptr) {
      if (engine_.ended()) return end_work(), note_left(), true;
      t = retired_ ? nullptr : poll();
      if (t == nullptr) t = linger();
      if (t == nullptr) t = rest();
    }
    if (t != nullptr && !execute(t)) return false;
  }
}

/// There is nothing to do: looks for work elsewhere, and sleeps when there is none. Null after it has slept, or when it was
/// told that the engine has ended.
task_header* worker::rest() noexcept {
  slot_.owner.running.store(0, std::memory_order_relaxed);
  end_work();
  keep_up();
  if (retired_)
    hand_over();
  else if (!queues_.next.empty())
    return poll(); // it was called back before it had handed that over
  else if (task_header* t = search())
    return t;
  engine_.publish_least_of(place().group);
  assert(queues_.next.empty()); // nobody looks there while it sleeps
  engine_.idle().park(id_, {.searching = searching_, .retired = retired_, .by = by_.get()});
  searching_ = true;
  noted_awake_ = false;
  return nullptr;
}

/// It has a task, and may have been idle.
void worker::leave_idling() noexcept {
  if (std::exchange(searching_, false)) engine_.idle().found_work(id_);
  if (!std::exchange(working_, true)) begin_work();
}

inline void worker::announce_waiting() noexcept {
  if (!unannounced_) [[likely]]
    return;
  unannounced_ = false;
  engine_.idle().pushed(id_);
}

/// What is urgent in the domain. Of ten tasks at least one is another, if there is any, however short a tick is.
task_header* worker::poll_latency() noexcept {
  if (!plan_.pick_latency()) return nullptr;
  task_header* t = take_class(classes_, task_class::latency);
  if (t == nullptr) return nullptr;
  plan_.count_latency();
  announce_waiting();
  found();
  return t;
}

task_header* worker::take_class(domain_classes& from, task_class c) noexcept {
  task_header* t = from.of(c).pop();
  if (t != nullptr) counts_.of_class[static_cast<std::size_t>(c) - 1].add();
  return t;
}

/// Own work, after what is urgent. The ring comes first, but once in `interval_` tasks what waits in the inbox and the
/// injection queue does, so that tasks that spawn or yield without end starve nobody.
task_header* worker::poll() noexcept {
  if (classes_.of(task_class::latency).waiting()) [[unlikely]]
    if (task_header* t = poll_latency()) return t;
  task_header* t = nullptr;
  if (plan_.count_poll()) [[unlikely]]
    t = poll_due();
  const bool from_slot = t == nullptr && !queues_.next.empty() && (t = take_next()) != nullptr;
  if (t == nullptr && !queues_.forks.empty()) t = take_fork();
  if (t != nullptr) {
    announce_waiting();
  } else {
    unannounced_ = false;
    t = queues_.ring.pop();
    if (t == nullptr) t = poll_behind_ring();
    if (t == nullptr) return classes_.of(task_class::latency).waiting() ? poll_latency() : nullptr;
  }
  if (!from_slot) next_left_ = std::max(next_left_, next_row_);
  found();
  return t;
}

task_header* worker::poll_behind_ring() noexcept {
  if (task_header* t = poll_shared(false)) return t;
  return take_next(); // what it was to let pass in the ring was stolen meanwhile
}

/// A background task, if one waits, and in the next poll what others share. Who comes from idling has had its time for
/// background tasks, and may leave one to others.
task_header* worker::poll_due() noexcept {
  const std::uint32_t started = queues_.started();
  if (plan_.pick_background(started) && working_ && classes_.of(task_class::background).waiting())
    if (task_header* t = take_class(classes_, task_class::background)) {
      plan_.count_background(started);
      return t;
    }
  if (task_header* t = poll_ring()) return t;
  if (looks_behind_ring()) return nullptr;
  task_header* t = poll_shared(true);
  if (queues_.in.size() != 0 || engine_.injection(place().group).size() != 0)
    plan_.note_backlog(by().settings.injection.backlog, queues_.ring.size());
  return t;
}

/// From the LIFO slot, while it may overtake; then it waits for its next turn or goes behind the ring, as `lifo_counts`
/// says.
task_header* worker::take_next() noexcept {
  if (queues_.next.empty() || in_front()) return nullptr;
  const lifo_count counts = by().settings.queues.lifo_counts;
  const bool counted =
      counts_in_slot(counts, [this] { return !queues_.ring.nothing_waits() || !queues_.forks.empty(); });
  if (next_left_ == 0 && counted) {
    if (waits_in_slot(counts)) return nullptr;
    if (task_header* t = queues_.next.take_own()) store(t);
    return nullptr;
  }
  task_header* t = queues_.next.take_own();
  if (t == nullptr) return nullptr; // it had aged
  if (counted) --next_left_;
  counts_.next.add();
  return t;
}

task_header* worker::poll_shared(bool due) noexcept {
  if (due && sheds_in_batches()) return take_inbox(due);
  const bool injection_first = due && plan_.pick_injection();
  if (injection_first)
    if (task_header* t = take_injected(place().group)) return t;
  if (task_header* t = take_inbox(due)) return t;
  return injection_first ? nullptr : take_injected(place().group);
}

/// One task from the inbox; when a batch is due, more of them move to the ring.
task_header* worker::take_inbox(bool batch) noexcept {
  if (queues_.in.timed() && !searching_ && queues_.ring.nothing_waits()) return take_oldest();
  const std::uint32_t most = batch ? with_room(share_of(queues_.in.size()) + 1, room()) : 1;
  task_chain taken;
  while (taken.size < most) {
    task_header* t = queues_.in.pop();
    if (t == nullptr) break;
    taken.push(t);
  }
  return keep(taken);
}

/// What came first of what waits in the inboxes of the group.
task_header* worker::take_oldest() noexcept {
  worker* from = this;
  std::optional<arrival> first = queues_.in.oldest();
  const auto workers = engine_.layout().of_group(place().group);
  const load_levels& levels = engine_.board(place().group).levels;
  const std::size_t others =
      engine_.idle().stealing() ? workers.size() : 0; // it may have changed in this tick
  for (std::size_t i = 0; i != others; ++i) {
    if (workers[i].id == id_ || levels.at(i) == 0) continue;
    worker& other = engine_.seat(workers[i].id);
    const arrival there = other.queues_.in.oldest().value_or(0);
    if (there == 0 || (first && !came_before(there, *first))) continue;
    first = there;
    from = &other;
  }
  task_header* t = from->queues_.in.pop();
  if (from == this) return t;
  if (t == nullptr) return queues_.in.pop(); // another was quicker
  note_stolen(*from, level::same_group, 1);
  return t;
}

task_header* worker::take_injected(group_id from) noexcept {
  injection_queue& queue = engine_.injection(from);
  const task_chain batch = queue.try_pop([this](std::uint32_t waiting) noexcept {
    return sheds_in_batches() ? room() + 1 // of an empty ring: as many as a full one sheds
                              : with_room(share_of(waiting), room());
  });
  if (batch.size == 0) return nullptr;
  counts_.injected.add(batch.size);
  return keep(batch, by().settings.injection.buffer);
}

/// How much of `waiting` a worker takes at once.
std::uint32_t worker::share_of(std::uint32_t waiting) const noexcept {
  const bool of_all = engine_.settings().injection.scope == injection_scope::engine;
  const std::uint32_t workers = of_all ? static_cast<std::uint32_t>(engine_.layout().size())
                                       : engine_.board(place().group).active.load(std::memory_order_relaxed);
  return batch_of(waiting, workers, by().settings.injection.batch);
}

std::uint32_t worker::room() const noexcept {
  // A thief that copies holds places that `size` counts as free, hence half.
  return room_of(queues_.ring.capacity(), queues_.ring.size());
}

/// The first to run now, the rest into the ring, which has room for them: `in_front` of them before what is there. On
/// their way they were in no queue, so the last searcher may have looked for them in vain: unless this worker is a
/// searcher itself, it says that they are here.
task_header* worker::keep(task_chain taken, std::uint32_t in_front) noexcept {
  task_header* first = taken.pop();
  if (taken.size == 0) return first;
  if (in_front != 0) put_in_front(taken, in_front);
  while (task_header* t = taken.pop()) store(t);
  if (!searching_) engine_.idle().pushed(id_);
  return first;
}

/// Up to `most` of them come before the LIFO slot and the ring, in whose front they lie: so thieves reach them when
/// this worker is held up. While a thief is at work there they stay where they are.
void worker::put_in_front(task_chain& taken, std::uint32_t most) noexcept {
  task_chain front;
  while (front.size < most)
    if (task_header* t = taken.pop())
      front.push(t);
    else
      break;
  const std::uint32_t end = queues_.ring.taken(); // before a thief comes: never beyond what is in the ring
  if (queues_.ring.push_front(front) != 0) {
    front_ends_ = end;
    return;
  }
  while (task_header* t = taken.pop()) front.push(t);
  taken = front;
}

/// Whether the oldest task of the ring was put in front.
bool worker::in_front() const noexcept {
  return static_cast<std::int32_t>(front_ends_ - queues_.ring.taken()) > 0;
}

void worker::push(task_header* t) noexcept {
  store(t);
  note_pushed();
  engine_.idle().pushed(id_);
}

void worker::note_pushed() noexcept {
  counts_.pushed.add();
  if (publishes_each_ || counts_.pushed.read() % pushes_between_publishings == 0)
    engine_.publish_load(place());
}

/// While others wait in the ring nobody needs to be told: the ring is never empty, so whoever looks finds something. A task
/// alone in it is run next, unless something else is: then it is announced.
void worker::queue_up(task_header* t) noexcept {
  unannounced_ = queues_.ring.nothing_waits();
  store(t);
}

/// A round of the loop with the oldest of the ring, but without going back to it, if that is a coroutine.
[[gnu::always_inline]] inline std::coroutine_handle<> worker::give_way(task_header& waits) noexcept {
  task_header* t = &waits;
  if (!rotates() || !queues_.ring.exchange_oldest(t)) [[unlikely]]
    return queue_up(t), std::noop_coroutine();
  // A thief came between. It may have left nothing but this, of which nobody was told.
  if (t == nullptr) [[unlikely]]
    return unannounced_ = true, std::noop_coroutine();
  if (next_left_ < next_row_) next_left_ = next_row_;
  coroutine_root* root = nullptr;
  std::coroutine_handle<> frame;
  if (t->act == &coroutine_root::perform) {
    root = static_cast<coroutine_root*>(t);
    frame = root->frame;
  } else if (t->act == &resumption::perform) {
    root = static_cast<resumption*>(t)->root;
    frame = static_cast<resumption*>(t)->frame;
  }
  if (root == nullptr || t->phase != this_execution.phase) {
    plan_.count_turn(); // the loop counts the rest
    came_round_ = t;
    return std::noop_coroutine();
  }
  count_turn();
  counts_.executed.add();
  this_execution.root = root;
  return transfer_to(frame);
}

/// Whether the loop would take the oldest of the ring, and do nothing else before.
inline bool worker::rotates() const noexcept {
  return !others_are_due() && polls_ + 1 < next_look_ && !publishes_next_ && queues_.forks.empty();
}

namespace {

[[gnu::always_inline]] inline std::coroutine_handle<>
give_way_to_others(task_header& waits, const coroutine_root& root) noexcept {
  worker* const seat = this_execution.seat;
  if (seat != nullptr && seat->takes_back(root)) [[likely]]
    return seat->give_way(waits);
  root.last->engine().send_on(&waits, root);
  return std::noop_coroutine();
}

} // namespace

std::coroutine_handle<> resumption::give_way() noexcept { return give_way_to_others(*this, *root); }

std::coroutine_handle<> coroutine_root::give_way() noexcept {
  assert(phase == this_execution.phase);
  if (this_execution.seat != nullptr) last = this_execution.seat;
  return give_way_to_others(*this, *this);
}

bool worker::keeps_one_more() const noexcept { return engine_.view().load(slot_).total() <= *keeps_up_to_; }

void worker::push_next(task_header* t) noexcept {
  const profile::queues_section& queues = by().settings.queues;
  if (!slot_takes(queues.lifo_cap, queues.lifo_counts, next_left_)) return push(t);
  // Into an empty slot nobody is woken: this worker takes it next.
  task_header* evicted = queues_.next.put(t);
  note_pushed();
  if (!std::exchange(slot_watched_, true)) engine_.idle().watch_slots();
  if (evicted == nullptr) return;
  store(evicted);
  engine_.idle().pushed(id_);
}

/// The older half of the ring makes room.
void worker::overflow(task_header* t) noexcept {
  task_chain excess = queues_.ring.shed();
  excess.push(t);
  counts_.overflowed.add(excess.size);
  if (engine_.injects()) return engine_.injection(place().group).push(excess);
  while (task_header* overflow = excess.pop()) static_cast<void>(queues_.in.push(overflow)); // unbounded
}

// --- running

/// False: the task gave the seat away, and nothing of it is the caller's any more. After a task that was suspended the
/// seat goes on being counted as busy, until it has the next one or rests.
inline bool worker::execute(task_header* t) {
  const std::uint8_t phase = t->phase;
  if (this_execution.phase != phase) [[unlikely]] {
    // Those who drain the other phase must hear of its last task now: this one may never end.
    this_execution.phase = phase;
    engine_.drains().progress();
  }
  slot_.owner.running.store(1, std::memory_order_relaxed);
  running_act_.store(t->act, std::memory_order_relaxed);
  touch(slot_, stamp_);
  if (publishes_next_) publish_load();
  bool ended = true;
  try {
    ended = t->act(t, task_action::run);
  } catch (...) {
    engine_.failed();
  }
  if (this_execution.seat != this) [[unlikely]] {
    if (ended) engine_.finished_without_seat(phase);
    return false;
  }
  if (ended) {
    slot_.owner.running.store(0, std::memory_order_relaxed);
    counts_.executed.add();
    books_.finished[phase].add();
    engine_.release_one();
  } else {
    counts_.executed.add();
  }
  if (++polls_ >= next_look_) look_at_clock();
  return true;
}

void worker::publish_load() noexcept {
  engine_.publish_load(place());
  publishes_next_ = publishes_each_;
}

// --- time

void worker::begin_work() noexcept {
  if (!std::exchange(noted_awake_, true)) engine_.threads().note_awake();
  begin_tick(read_clock());
  if (group_time_ns_ != engine_.group(place().group).task_time_ns())
    note_task_time(); // else it did as it lay down
  busy_since_ns_.store(tick_began_.time_since_epoch().count(), std::memory_order_relaxed);
  next_left_ = by().settings.queues.lifo_cap;
  // It found nothing there, or this came from there; a background task goes on waiting for its turn.
  const class_queue& background = classes_.of(task_class::background);
  if (!background.waiting() || !background.ready()) plan_.begin_interval();
  slot_watched_ = queues_.takers.alone();
}

void worker::begin_tick(monotonic::time_point now) noexcept {
  tick_began_ = now;
  stamp_ = static_cast<std::uint64_t>(now.time_since_epoch().count());
  polls_ = 0;
  next_look_ = first_look_of(clock_.average_ns(), by().settings.queues.budget);
  publishes_next_ = true;
}

void worker::end_work() noexcept {
  if (!std::exchange(working_, false)) return;
  engine_.publish_load(place());
  const auto now = monotonic::now();
  end_tick(now);
  const std::int64_t since = busy_since_ns_.load(std::memory_order_relaxed); // own
  busy_since_ns_.store(0, std::memory_order_relaxed);
  counts_.busy_ns.add(static_cast<std::uint64_t>(now.time_since_epoch().count() - since));
}

/// Reads the clock after as many tasks as should take a tenth of a tick (16 at most), then after twice as many and so on,
/// so that short tasks do not pay for it and long ones end a tick in time.
void worker::look_at_clock() noexcept {
  const std::uint32_t budget = by().settings.queues.budget;
  next_look_ = look_after(polls_, budget);
  engine_.publish_load(place());
  const auto now = read_clock();
  engine_.look_at_timers(*this, now);
  if (ends_tick(polls_, budget, now - tick_began_)) end_tick(now);
}

void worker::end_tick(monotonic::time_point now) noexcept {
  clock_.sample(now - tick_began_, polls_);
  counts_.ticks.add();
  keep_up();
  const auto& injection = by().settings.injection;
  plan_.set_interval(interval_of(injection.target_latency, clock_.average_ns(), injection.interval));
  if (!in_front()) front_ends_ = queues_.ring.taken(); // before the positions have gone round
  note_task_time();
  engine_.publish_least_of(place().group);
  begin_tick(now);
  const profile::queues_section& queues = by().settings.queues;
  if (slot_counts_ticks(queues.lifo_counts)) next_left_ = queues.lifo_cap;
  engine_.drains().progress();
}

monotonic::time_point worker::read_clock() noexcept {
  const auto now = monotonic::now();
  clock_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  return now;
}

/// Who runs little but one that submits many short tasks to others takes them for as long as that one; the group knows
/// better, where those who run many tell it more often.
void worker::note_task_time() noexcept {
  group_state& group = engine_.group(place().group);
  const std::uint64_t own = clock_.average_ns();
  task_time_ns_ = std::min(own, group.task_time_ns());
  group.note_task_time(own);
  group_time_ns_ = group.task_time_ns();
  publishes_each_ = own >= long_enough_ns;
  queues_.in.time(engine_.idle().stealing() && takes_oldest_first(by().settings.queues.oldest_first, own));
  load_view view = engine_.view();
  view.task_time_ns = task_time_ns_;
  keeps_up_to_ = by().placing->keeps_up_to(view, {.group = place().group, .worker = id_});
}

} // namespace corewise::detail
