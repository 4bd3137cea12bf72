#include "base/clock.hpp"
#include "base/fence.hpp"
#include "worker/shared.hpp"
#include "worker/worker.hpp"

#include <corewise/policies/activity.hpp>

// How a worker without work looks for some.

namespace corewise::detail {

namespace {

/// Between two rounds of searching, where the CPU is not offered.
constexpr int pauses_between_rounds = 16;
/// A look at another worker's queues takes the lines that it writes away from it, so the looks become rarer.
constexpr std::uint32_t most_rounds_between_looks = 8;

/// A worker that has emptied its inbox waits a round for each so many tasks that have come, and at most so many rounds.
constexpr std::uint32_t tasks_for_a_round = 4;
constexpr std::uint32_t most_lingering_rounds = 3;

} // namespace

/// Between an empty inbox and `rest`, where many short tasks came: they may come faster than it takes to say that there is nothing
/// to do. Its looks, and what it tells, would cost who brings them more than the tasks do (ADR 0035).
task_header* worker::linger() noexcept {
  if (!working_ || retired_ || publishes_each_) return nullptr;
  const std::uint32_t taken = queues_.in.taken();
  const std::uint32_t came = taken - std::exchange(lingered_at_, taken);
  const std::uint32_t rounds = std::min(came / tasks_for_a_round, most_lingering_rounds);
  if (rounds == 0) return nullptr;
  for (std::uint32_t i = 0; i < rounds; ++i) wait_a_little(monotonic::now());
  return poll();
}

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
  for (auto now = monotonic::now(); t == nullptr && !engine_.ended() && now < until; now = monotonic::now()) {
    wait_a_little(now);
    if (classes_.of(task_class::latency).waiting()) t = take_suited(task_class::latency, steal_effort::usual);
    if (t == nullptr) t = poll_shared(false);
    if (t != nullptr || ++rounds != next_look_around) continue;
    next_look_around = rounds + std::min(rounds, most_rounds_between_looks);
    t = look_around(steal_effort::usual);
  }
  return t;
}

/// Between two rounds.
void worker::wait_a_little(monotonic::time_point now) noexcept {
  if (!offers_.due(now)) {
    for (int i = 0; i < pauses_between_rounds; ++i) pause_core();
    return;
  }
  offer_cpu();
  offers_.made(now, monotonic::now());
}

/// What is urgent in the domain, then what the steal policy finds, then what can wait, and last what other domains have
/// no time for.
task_header* worker::look_around(steal_effort effort) noexcept {
  task_header* t = take_suited(task_class::latency, effort);
  if (t == nullptr && engine_.fire_all_due(*this)) t = queues_.ring.pop();
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

/// Half of the victim's ring, or else half of its inbox, or else its oldest fork: what it would come to last comes first.
task_header* worker::steal_from(worker& victim, level distance) noexcept {
  const std::uint32_t most = with_room(by().settings.steal.batch_max, room());
  task_chain stolen = victim.queues_.ring.steal(most);
  if (stolen.size == 0) {
    const std::uint32_t half = half_of(victim.queues_.in.size(), most);
    while (stolen.size < half) {
      task_header* t = victim.queues_.in.pop();
      if (t == nullptr) break;
      stolen.push(t);
    }
  }
  if (stolen.size == 0)
    if (task_header* t = steal_fork(victim.queues_)) stolen.push(t);
  if (stolen.size == 0) return nullptr;
  note_stolen(victim, distance, stolen.size);
  return keep(stolen);
}

void worker::note_stolen(worker& victim, level distance, std::uint32_t tasks) noexcept {
  cool(victim.slot_);
  engine_.publish_load(victim.place()); // its owner may be in a long task
  counts_.stolen[static_cast<std::size_t>(distance)].add(tasks);
}

} // namespace corewise::detail
