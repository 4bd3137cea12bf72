#include "worker.hpp"

#include "fence.hpp"
#include "runtime.hpp"
#include "shared_work.hpp"

#include <corewise/engine/resumption.hpp>
#include <corewise/policies/activity.hpp>

#include <pthread.h>

namespace corewise::detail {

namespace {

/// A tick ends after the profile's budget of tasks or this time, whichever is first.
constexpr std::chrono::microseconds tick_time{500};
/// Publishing the load costs a few nanoseconds: with tasks from this time on it is done at each, else at each look at the
/// clock and at each sixteenth push.
constexpr std::uint64_t long_enough_ns = 1000;
constexpr std::uint64_t pushes_between_publishings = 16;
/// Looks at the core's pause hint between two rounds of searching.
constexpr int pauses_between_rounds = 16;
/// A look at another worker's queues takes the lines that it writes away from it, so the looks become rarer.
constexpr std::uint32_t most_rounds_between_looks = 8;
/// A blocking call of this length costs the others more than a spare thread does.
constexpr std::chrono::microseconds long_call{20};
/// One in so many short calls is timed.
constexpr std::uint32_t calls_to_timed = 8;

} // namespace

worker::worker(runtime& engine, worker_id id, const queue_memory& memory)
    : engine_(engine),
      id_(id),
      queues_(memory),
      slot_(memory.slot),
      classes_(engine.classes(engine.layout()[id].group)),
      rng_(id.value + 1) {
  by_.take(engine.newest_rules());
  interval_ = by().settings.injection.interval.min;
}

const worker_place& worker::place() const noexcept { return engine_.layout()[id_]; }

std::size_t worker::index_in_group() const noexcept {
  return id_.value - engine_.layout().of_group(place().group).front().id.value;
}

// --- the loop

bool worker::run() {
  while (task_header* t = next())
    if (!execute(t)) return false;
  return true;
}

/// The next task, from the nearest place that has one; sleeps while there is none. Null: the engine has
/// ended.
task_header* worker::next() noexcept {
  for (;;) {
    if (engine_.ended()) return end_work(), note_left(), nullptr;
    if (task_header* t = retired_ ? nullptr : poll()) return t;
    end_work();
    keep_up();
    if (retired_)
      hand_over();
    else if (task_header* t = search())
      return t;
    engine_.publish_least_of(place().group);
    engine_.idle().park(id_, {.searching = searching_, .retired = retired_, .by = by_.get()});
    searching_ = true;
    noted_awake_ = false;
  }
}

inline void worker::found() noexcept {
  if (std::exchange(searching_, false)) engine_.idle().found_work(id_);
  begin_work();
}

/// What is urgent in the domain. Of ten tasks at least one is another, if there is any, however short a tick is.
task_header* worker::poll_latency() noexcept {
  if (latency_left_ == 0) {
    latency_left_ = latency_row;
    return nullptr;
  }
  task_header* t = take_class(classes_, task_class::latency);
  if (t == nullptr) return nullptr;
  --latency_left_;
  if (until_shared_ > 1) --until_shared_; // it counts as one of the interval
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
  if (--until_shared_ == 0) {
    until_shared_ = interval_;
    t = poll_due();
  }
  const bool from_slot = t == nullptr && (t = take_next()) != nullptr;
  if (t != nullptr) {
    announce_waiting();
  } else {
    unannounced_ = false;
    t = queues_.ring.pop();
    if (t == nullptr) t = poll_shared(false);
    if (t == nullptr) t = take_next(); // what it was to let pass in the ring was stolen meanwhile
    if (t == nullptr) return classes_.of(task_class::latency).waiting() ? poll_latency() : nullptr;
  }
  if (!from_slot && by().settings.queues.lifo_counts != lifo_count::all)
    next_left_ = by().settings.queues.lifo_cap;
  found();
  return t;
}

/// A background task, if one waits, and in the next poll what others share. Who comes from idling has had its time for
/// background tasks, and may leave one to others.
task_header* worker::poll_due() noexcept {
  if (working_ && background_turn_ && classes_.of(task_class::background).waiting())
    if (task_header* t = take_class(classes_, task_class::background)) {
      background_turn_ = false;
      until_shared_ = 1;
      return t;
    }
  background_turn_ = true;
  return poll_shared(true);
}

/// From the LIFO slot, while it may overtake; then it waits for its next turn or goes behind the ring, as `lifo_counts`
/// says.
task_header* worker::take_next() noexcept {
  if (queues_.next.empty() || in_front()) return nullptr;
  const bool waits_its_turn = by().settings.queues.lifo_counts == lifo_count::overtaking;
  const bool counted = !waits_its_turn || queues_.ring.size() != 0;
  if (next_left_ == 0 && counted) {
    if (waits_its_turn) return nullptr;
    if (task_header* t = queues_.next.take()) store(t);
    return nullptr;
  }
  task_header* t = queues_.next.take();
  if (t == nullptr) return nullptr; // it had aged
  if (counted) --next_left_;
  counts_.next.add();
  return t;
}

/// When it is due the inbox and the injection queue take turns at being first: a ring that overflows all the time keeps
/// the injection queue filled for ever.
task_header* worker::poll_shared(bool due) noexcept {
  const bool injection_first = due && std::exchange(injection_first_, !injection_first_);
  if (injection_first)
    if (task_header* t = take_injected(place().group)) return t;
  if (task_header* t = take_inbox(due)) return t;
  return injection_first ? nullptr : take_injected(place().group);
}

/// One task from the inbox; when a batch is due, more of them move to the ring.
task_header* worker::take_inbox(bool batch) noexcept {
  const std::uint32_t most = batch ? std::min(share_of(queues_.in.size()), room()) + 1 : 1;
  task_chain taken;
  while (taken.size < most) {
    task_header* t = queues_.in.pop();
    if (t == nullptr) break;
    taken.push(t);
  }
  return keep(taken);
}

task_header* worker::take_injected(group_id from) noexcept {
  injection_queue& queue = engine_.injection(from);
  if (queue.size() == 0) return nullptr;
  const task_chain batch = queue.pop(std::min(share_of(queue.size()), room() + 1));
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
  return queues_.ring.capacity() / 2 - std::min(queues_.ring.size(), queues_.ring.capacity() / 2);
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
  const std::uint32_t count = queues_.ring.push_front(front);
  if (count != 0) {
    front_ends_ = queues_.ring.taken() + count;
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
void worker::give_way(task_header* t) noexcept {
  unannounced_ = queues_.ring.size() == 0;
  store(t);
}

void worker::announce_waiting() noexcept {
  if (std::exchange(unannounced_, false)) engine_.idle().pushed(id_);
}

bool worker::keeps_its_own() const noexcept {
  return keeps_up_to_ && engine_.view().load(slot_).total() <= *keeps_up_to_;
}

void worker::push_next(task_header* t) noexcept {
  const profile::queues_section& queues = by().settings.queues;
  if (queues.lifo_cap == 0) return push(t);
  if (next_left_ == 0 && queues.lifo_counts != lifo_count::overtaking) return push(t);
  // Into an empty slot nobody is woken: this worker takes it next.
  task_header* evicted = queues_.next.put(t);
  note_pushed();
  if (!std::exchange(slot_watched_, true)) engine_.idle().watch_slots();
  if (evicted == nullptr) return;
  store(evicted);
  engine_.idle().pushed(id_);
}

void worker::store(task_header* t) noexcept {
  if (queues_.ring.push(t)) return;
  task_chain excess = queues_.ring.shed();
  excess.push(t);
  counts_.overflowed.add(excess.size);
  if (engine_.injects()) return engine_.injection(place().group).push(excess);
  while (task_header* overflow = excess.pop()) static_cast<void>(queues_.in.push(overflow)); // unbounded
}

// --- searching

/// Looks for work for a while, its own and, as one of the domain's searchers, that of others. Without stealing anybody
/// may: nobody counts on what it finds.
task_header* worker::search() noexcept {
  const bool stealing = engine_.idle().stealing();
  if (stealing) {
    if (!searching_ && !engine_.idle().try_search(id_)) return nullptr;
    searching_ = true;
  }
  worker_bits& spinning = engine_.board(place().group).spinning;
  spinning.set(index_in_group());
  handed_ = {};
  steals_ = stealing;
  task_header* t = spin();
  if (t == nullptr) t = look_around(steal_effort::thorough);
  spinning.claim(index_in_group());
  if (t == nullptr) return nullptr;
  found();
  return t;
}

/// Bounded by `idle.spin`.
task_header* worker::spin() noexcept {
  const auto until = monotonic::now() + by().settings.idle.spin;
  task_header* t = look_around(steal_effort::usual);
  std::uint32_t rounds = 0;
  std::uint32_t next_look_around = 1;
  while (t == nullptr && !engine_.ended() && monotonic::now() < until) {
    for (int i = 0; i < pauses_between_rounds; ++i) pause_core();
    if (classes_.of(task_class::latency).waiting()) t = take_suited(task_class::latency, steal_effort::usual);
    if (t == nullptr) t = poll_shared(false);
    if (t != nullptr || ++rounds != next_look_around) continue;
    next_look_around = rounds + std::min(rounds, most_rounds_between_looks);
    t = look_around(steal_effort::usual);
  }
  return t;
}

/// What is urgent in the domain, then what the steal policy finds, then what can wait, and last what other domains have
/// no time for.
task_header* worker::look_around(steal_effort effort) noexcept {
  task_header* t = take_suited(task_class::latency, effort);
  if (t == nullptr && steals_) t = steal(effort);
  if (t == nullptr) t = take_suited(task_class::background, effort);
  if (t == nullptr && steals_) t = take_far_class();
  return t;
}

/// A task of the domain's queue, unless it is left to an idle worker that suits it better.
task_header* worker::take_suited(task_class c, steal_effort effort) noexcept {
  if (!classes_.of(c).ready()) return nullptr;
  bool& handed = handed_[static_cast<std::size_t>(c) - 1];
  if (steals_ && engine_.idle().leave(id_, c, effort == steal_effort::thorough, handed)) return nullptr;
  return take_class(classes_, c);
}

/// From the nearest domain where nobody is idle and enough waits.
task_header* worker::take_far_class() noexcept {
  const group_id own = place().group;
  for (const group_id g : engine_.groups()[own].steal_order) {
    domain_classes& there = engine_.classes(g);
    if (&there == &classes_ || !there.ready()) continue;
    if (!engine_.idle().may_take_class(own, engine_.groups()[g].domain)) continue;
    task_header* t = take_class(there, task_class::latency);
    if (t == nullptr) t = take_class(there, task_class::background);
    if (t != nullptr) return t;
  }
  return nullptr;
}

/// Where to look, and in which order, is the steal policy's affair.
task_header* worker::steal(steal_effort effort) noexcept {
  const group_id own = place().group;
  task_header* t = nullptr;
  group_id asked = own; // about this group `may_take` was asked last
  bool allowed = true;
  by().stealing->visit(engine_.view(), id_, rng_, effort, [&](const steal_stop& stop) {
    if (stop.group != asked) {
      asked = stop.group;
      allowed = engine_.idle().may_take(own, asked);
    }
    if (!allowed) return false;
    t = stop.victim ? steal_from(engine_.seat(*stop.victim), stop.level) : take_injected(stop.group);
    return t != nullptr;
  });
  return t;
}

/// Half of the victim's ring, or else half of its inbox.
task_header* worker::steal_from(worker& victim, level distance) noexcept {
  const std::uint32_t most = std::min(by().settings.steal.batch_max, room() + 1);
  task_chain stolen = victim.queues_.ring.steal(most);
  if (stolen.size == 0) {
    const std::uint32_t half = std::min((victim.queues_.in.size() + 1) / 2, most);
    while (stolen.size < half) {
      task_header* t = victim.queues_.in.pop();
      if (t == nullptr) break;
      stolen.push(t);
    }
  }
  if (stolen.size == 0) return nullptr;
  cool(victim.slot_);
  engine_.publish_load(victim.place()); // its owner may be in a long task
  counts_.stolen[static_cast<std::size_t>(distance)].add(stolen.size);
  return keep(stolen);
}

// --- running

/// False: the task gave the seat away, and nothing of it is the caller's any more.
bool worker::execute(task_header* t) {
  const std::uint8_t phase = t->phase;
  // Those who drain the other phase must hear of its last task now: this one may never end.
  if (std::exchange(this_execution.phase, phase) != phase) engine_.drains().progress();
  slot_.owner.running.store(1, std::memory_order_relaxed);
  running_act_.store(t->act, std::memory_order_relaxed);
  touch(slot_, stamp_);
  if (publishes_each_ || polls_ == 0) engine_.publish_load(place());
  bool ended = true;
  try {
    ended = t->act(t, task_action::run);
  } catch (...) {
    engine_.failed();
  }
  if (this_execution.seat != this) {
    if (ended) engine_.finished_without_seat(phase);
    return false;
  }
  slot_.owner.running.store(0, std::memory_order_relaxed);
  counts_.executed.add();
  if (ended) {
    books_.finished[phase].add();
    engine_.release_one();
  }
  count_poll();
  return true;
}

/// Sleepers are told of what waits here already; for what comes there is the supervisor. Where calls were long of late
/// and tasks wait, this one is taken for long too, and a spare thread is called at once.
std::uint64_t worker::lend() noexcept {
  counts_.blocking.add();
  slot_.owner.running.store(0, std::memory_order_relaxed);
  if (this_execution.root != nullptr)
    this_execution.root->last = this; // whence it goes on once it was suspended
  if (!queues_.next.empty())
    if (task_header* t = queues_.next.take()) store(t);
  const bool waited_for = queues_.ready() || classes_.ready();
  const bool in_haste = calls_are_long_ && (waited_for || engine_.injection(place().group).size() != 0);
  const bool timed = calls_are_long_ || ++calls_ % calls_to_timed == 0;
  lent_at_ = timed ? monotonic::now() : monotonic::time_point{};
  engine_.board(place().group).unavailable.set(index_in_group()); // B1
  engine_.publish_load(place());
  this_execution.seat = nullptr;
  const std::uint64_t lending = generation_.lend(); // B2
  show_availability();                              // if the worker was called back just before
  if (waited_for) engine_.idle().pushed(id_);       // others can do what waits here
  if (in_haste && engine_.offer_seat(*this, lending)) return lending;
  if (!engine_.supervision().attend()) static_cast<void>(engine_.offer_seat(*this, lending));
  return lending;
}

void worker::regain(std::uint64_t lending) noexcept {
  if (!generation_.regain(lending)) return;
  show_availability();
  this_execution.seat = this;
  slot_.owner.running.store(1, std::memory_order_relaxed);
  counts_.regained.add();
  if (lent_at_ != monotonic::time_point{}) calls_are_long_ = monotonic::now() - lent_at_ >= long_call;
}

bool worker::take(std::uint64_t lending) noexcept {
  if (!generation_.take(lending)) return false;
  show_availability();
  counts_.handed_over.add();
  calls_are_long_ = true;
  return true;
}

void worker::note_thread() noexcept {
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  thread_.store(::gettid(), std::memory_order_relaxed);
  thread_clock_.store(clock, std::memory_order_relaxed);
}

// --- time

void worker::begin_work() noexcept {
  if (std::exchange(working_, true)) return;
  if (!std::exchange(noted_awake_, true)) engine_.supervision().note_awake();
  tick_began_ = read_clock();
  stamp_ = static_cast<std::uint64_t>(tick_began_.time_since_epoch().count());
  note_task_time();
  busy_since_ns_.store(tick_began_.time_since_epoch().count(), std::memory_order_relaxed);
  polls_ = 0;
  next_look_ = first_look();
  next_left_ = by().settings.queues.lifo_cap;
  // It found nothing there, or this came from there; a background task goes on waiting for its turn.
  const class_queue& background = classes_.of(task_class::background);
  if (!background.waiting() || !background.ready()) until_shared_ = interval_;
  slot_watched_ = false;
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

/// Reads the clock after as many tasks as should take a tenth of a tick (16 at most), then twice as many and so on, so that short tasks
/// do not pay for it and long ones end a tick in time.
void worker::count_poll() noexcept {
  if (++polls_ < next_look_) return;
  const std::uint32_t budget = by().settings.queues.budget;
  next_look_ = std::min(polls_ * 2, budget);
  engine_.publish_load(place());
  const auto now = read_clock();
  if (polls_ >= budget || now - tick_began_ >= tick_time) end_tick(now);
}

void worker::end_tick(monotonic::time_point now) noexcept {
  clock_.sample(now - tick_began_, polls_);
  counts_.ticks.add();
  keep_up();
  const auto& injection = by().settings.injection;
  interval_ = interval_of(injection.target_latency, clock_.average_ns(), injection.interval);
  until_shared_ = std::min(until_shared_, interval_);
  if (!in_front()) front_ends_ = queues_.ring.taken(); // before the positions have gone round
  note_task_time();
  engine_.publish_least_of(place().group);
  tick_began_ = now;
  stamp_ = static_cast<std::uint64_t>(now.time_since_epoch().count());
  polls_ = 0;
  next_look_ = first_look();
  if (by().settings.queues.lifo_counts == lifo_count::all) next_left_ = by().settings.queues.lifo_cap;
  engine_.drains().progress();
}

monotonic::time_point worker::read_clock() noexcept {
  const auto now = monotonic::now();
  clock_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  return now;
}

std::uint32_t worker::first_look() const noexcept {
  constexpr std::uint64_t tenth_ns = std::chrono::nanoseconds(tick_time).count() / 10;
  const std::uint64_t most = std::min(16U, by().settings.queues.budget); // the tasks may have become long
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(tenth_ns / std::max<std::uint64_t>(1, clock_.average_ns()), 1, most));
}

void worker::note_task_time() noexcept {
  load_view view = engine_.view();
  view.task_time_ns = clock_.average_ns();
  engine_.group(place().group).note_task_time(view.task_time_ns);
  publishes_each_ = view.task_time_ns >= long_enough_ns;
  keeps_up_to_ = by().placing->keeps_up_to(view, {.group = place().group, .worker = id_});
}

// --- reload

/// Between two tasks: from here on the newest rules hold.
void worker::keep_up() noexcept {
  if (!by_.take(engine_.newest_rules())) return;
  retired_ = !engine_.active(id_);
  next_left_ = by().settings.queues.lifo_cap;
  if (next_left_ == 0) leave_next();
  engine_.forget_old_rules();
}

/// There is no LIFO slot any more: what is in it would never have its turn.
void worker::leave_next() noexcept {
  task_header* t = queues_.next.take();
  if (t == nullptr) return;
  store(t);
  engine_.idle().pushed(id_);
}

/// A retired worker gives to others what it has and what is still sent to it; and what waits in its group's injection
/// queue, when nobody of the group is left, and in its domain's class queues, when nobody of the domain is.
void worker::hand_over() noexcept {
  unannounced_ = false;
  const group_id own = place().group;
  if (task_header* t = queues_.next.take()) engine_.send_near(t, own);
  while (task_header* t = queues_.ring.pop()) engine_.send_near(t, own);
  while (task_header* t = queues_.in.pop()) engine_.send_near(t, own);
  front_ends_ = queues_.ring.taken();
  engine_.publish_load(place());
  if (engine_.idle().injection_is_left(own)) {
    task_chain waiting = engine_.injection(own).pop(engine_.injection(own).size());
    while (task_header* t = waiting.pop()) engine_.send_near(t, own);
  }
  if (!engine_.idle().classes_are_left(engine_.groups()[own].domain)) return;
  for (const task_class c : {task_class::latency, task_class::background})
    for (std::uint32_t left = classes_.of(c).depth(); left > 0; --left)
      if (task_header* t = classes_.of(c).pop()) engine_.send_near(t, own, c);
}

/// Whoever changes whose seat it is, or whether it is active, looks at the bit afterwards, and then at both again: so the
/// last one to write the bit has seen the last change. seq_cst, all of them.
void worker::show_availability() noexcept {
  worker_bits& unavailable = engine_.board(place().group).unavailable;
  const std::size_t index = index_in_group();
  const auto hidden = [&] { return !generation_.held() || !engine_.active(id_); };
  bool hide = false;
  do {
    hide = hidden();
    if (unavailable.test(index, std::memory_order_seq_cst) == hide) continue;
    if (hide)
      unavailable.set(index);
    else
      unavailable.claim(index);
  } while (hide != hidden());
}

// --- for people

worker_metrics worker::metrics() const noexcept {
  worker_metrics m;
  m.worker = id_;
  m.group = place().group;
  m.overflowed = counts_.overflowed.read();
  m.placed = counts_.pushed.read() + queues_.in.put() - (engine_.injects() ? 0 : m.overflowed);
  m.executed = counts_.executed.read();
  m.ticks = counts_.ticks.read();
  m.lifo_runs = counts_.next.read();
  m.latency_runs = counts_.of_class[0].read();
  m.background_runs = counts_.of_class[1].read();
  m.active = engine_.active(id_) ? 1 : 0;
  m.load = queues_.waiting() + (queues_.next.empty() ? 0U : 1U) +
           slot_.owner.running.load(std::memory_order_relaxed);
  for (std::size_t l = 0; l < level_count; ++l) m.stolen[l] = counts_.stolen[l].read();
  m.injected = counts_.injected.read();
  m.spilled = counts_.spilled.read();
  m.regained_seats = counts_.regained.read();
  m.handed_over_seats = counts_.handed_over.read();
  m.blocking_calls = counts_.blocking.read();
  m.busy = std::chrono::nanoseconds{static_cast<std::int64_t>(counts_.busy_ns.read())} +
           busy_for().value_or(std::chrono::nanoseconds{0});
  return m;
}

std::optional<std::chrono::nanoseconds> worker::busy_for() const noexcept {
  const std::int64_t since = busy_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) return std::nullopt;
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() - since};
}

const char* worker::task_kind() const noexcept {
  const auto act = running_act_.load(std::memory_order_relaxed);
  if (act == nullptr) return nullptr;
  act(nullptr, task_action::identify);
  return std::exchange(this_execution.kind, nullptr);
}

std::chrono::nanoseconds worker::task_age() const noexcept {
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() -
                                  clock_ns_.load(std::memory_order_relaxed)};
}

} // namespace corewise::detail
