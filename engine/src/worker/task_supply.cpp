#include "worker/task_supply.hpp"

#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <corewise/policies/activity.hpp>
#include <corewise/policies/shared_work.hpp>

namespace corewise::detail {

task_supply::task_supply(shared& engine, const worker_place& place, const queue_memory& memory,
                         const holder<rules>& in_force, worker_counters& counts)
    : engine_(engine),
      place_(place),
      queues_(memory, takers_),
      classes_(engine.classes(place.group)),
      rules_(in_force),
      counts_(counts),
      takers_(engine.layout().at_begin() == 1) {}

// --- pushing

/// The older half of the ring makes room.
void task_supply::overflow(task_header* t) noexcept {
  task_chain excess = queues_.ring.shed();
  excess.push(t);
  counts_.overflowed.add(
      excess.size); // before they are there: else `worker_metrics::placed` would count them twice
  if (engine_.settings().injection.scope != injection_scope::none)
    engine_.injection(place_.group).push(excess);
  else
    while (task_header* older = excess.pop()) static_cast<void>(queues_.in.push(older)); // unbounded
}

void task_supply::push_yielded(task_header* t) noexcept {
  yielded_alone_ = queues_.ring.nothing_waits();
  push(t);
}

void task_supply::announce() noexcept {
  yielded_alone_ = false;
  engine_.idle().notify_pushed(place_.id);
}

// --- taking

task_header* task_supply::take_class(domain_classes& from, task_class c) noexcept {
  task_header* t = from.of(c).pop();
  if (t != nullptr) counts_.of_class[static_cast<std::size_t>(c) - 1].add();
  return t;
}

task_header* task_supply::take_shared() noexcept {
  if (task_header* t = take_inbox(1)) return t;
  return take_injected(place_.group);
}

task_header* task_supply::take_batch(bool injection_first, std::uint32_t in_front) noexcept {
  if (injection_first)
    if (task_header* t = take_injected(place_.group, in_front)) return t;
  if (task_header* t = take_inbox(with_room(share_of(queues_.in.size()) + 1, room()))) return t;
  return injection_first ? nullptr : take_injected(place_.group, in_front);
}

/// Takes up to `most` tasks, and returns the first.
inline task_header* task_supply::take_inbox(std::uint32_t most) noexcept {
  if (queues_.in.timed() && !searching_ && queues_.ring.nothing_waits()) return take_oldest();
  task_chain taken;
  while (taken.size < most) {
    task_header* t = queues_.in.pop();
    if (t == nullptr) break;
    taken.push(t);
  }
  return push_all_but_first(taken);
}

/// Takes the task that came first of those that wait in the inboxes of the group (ADR 0031).
task_header* task_supply::take_oldest() noexcept {
  worker* from = nullptr;
  std::optional<arrival> first = queues_.in.oldest();
  const auto workers = engine_.layout().of_group(place_.group);
  const load_levels& levels = engine_.board(place_.group).levels;
  const std::size_t others =
      engine_.idle().stealing() ? workers.size() : 0; // it may have changed in this tick
  for (std::size_t i = 0; i != others; ++i) {
    if (workers[i].id == place_.id || levels.at(i) == 0) continue;
    worker& other = engine_.seat(workers[i].id);
    const arrival there = other.queues().in.oldest().value_or(0);
    if (there == 0 || (first && !came_before(there, *first))) continue;
    first = there;
    from = &other;
  }
  if (from == nullptr) return queues_.in.pop();
  task_header* t = from->queues().in.pop();
  if (t == nullptr) return queues_.in.pop(); // another was quicker
  note_stolen(*from, level::same_group, 1);
  return t;
}

task_header* task_supply::take_injected(group_id from, std::uint32_t in_front) noexcept {
  injection_queue& queue = engine_.injection(from);
  const task_chain batch =
      queue.try_pop([this](std::uint32_t waiting) noexcept { return with_room(share_of(waiting), room()); });
  if (batch.size == 0) return nullptr;
  counts_.injected.add(batch.size);
  return push_all_but_first(batch, in_front);
}

/// Returns how many of `waiting` tasks the worker takes at once.
std::uint32_t task_supply::share_of(std::uint32_t waiting) const noexcept {
  const bool of_all = engine_.settings().injection.scope == injection_scope::engine;
  const std::uint32_t workers = of_all ? engine_.layout().at_begin()
                                       : engine_.board(place_.group).active.load(std::memory_order_relaxed);
  return batch_of(waiting, workers, rules_.get()->settings.injection.batch);
}

std::uint32_t task_supply::room() const noexcept {
  // A thief that copies holds places that `size` counts as free, hence half.
  return room_of(queues_.ring.capacity(), queues_.ring.size());
}

/// On their way the tasks were in no queue, so the last searcher may have looked for them in vain. A worker
/// that is no searcher itself therefore announces them.
task_header* task_supply::push_all_but_first(task_chain taken, std::uint32_t in_front) noexcept {
  task_header* first = taken.pop();
  if (taken.size == 0) return first;
  if (in_front != 0) push_front(taken, in_front);
  while (task_header* t = taken.pop()) push(t);
  if (!searching_) engine_.idle().notify_pushed(place_.id);
  return first;
}

/// Pushes up to `most` tasks into the front of the ring. There they come before the LIFO slot and the ring,
/// and thieves reach them when this worker is held up. While a thief is at work there `taken` keeps them.
void task_supply::push_front(task_chain& taken, std::uint32_t most) noexcept {
  task_chain front;
  while (front.size < most)
    if (task_header* t = taken.pop())
      front.push(t);
    else
      break;
  if (queues_.ring.push_front(front) != 0) return;
  while (task_header* t = taken.pop()) front.push(t);
  taken = front;
}

void task_supply::push_ready(task_chain& ready) noexcept {
  if (!queues_.ring.nothing_waits()) queues_.ring.push_front(ready);
  while (task_header* t = ready.pop()) push(t);
  engine_.idle().notify_pushed(place_.id);
}

void task_supply::note_stolen(worker& victim, level distance, std::uint32_t tasks) noexcept {
  cool(victim.entry());
  engine_.publish_load(victim.place()); // its owner may be in a long task
  counts_.victims[static_cast<std::size_t>(distance)].store(victim.place().group.value,
                                                            std::memory_order_relaxed);
  counts_.stolen[static_cast<std::size_t>(distance)].add(tasks);
}

} // namespace corewise::detail
