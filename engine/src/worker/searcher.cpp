#include "worker/searcher.hpp"

#include "base/clock.hpp"
#include "base/fence.hpp"
#include "worker/forks.hpp"
#include "worker/shared.hpp"
#include "worker/task_event.hpp"
#include "worker/worker.hpp"

namespace corewise::detail {

namespace {

/// Between two rounds of searching, where the worker does not offer its CPU.
constexpr int pauses_between_rounds = 16;
/// A look at another worker's queues takes the lines that it writes away from it, so the looks become rarer.
constexpr std::uint32_t most_rounds_between_looks = 8;

/// A worker that has emptied its inbox waits a round for each so many tasks that have come, and at most so
/// many rounds.
constexpr std::uint32_t tasks_for_a_round = 4;
constexpr std::uint32_t most_lingering_rounds = 3;

} // namespace

/// The next tasks may come faster than it takes to announce that the worker is idle. Its looks and its
/// announcements would cost the submitter more than the tasks do (ADR 0035).
bool searcher::linger() noexcept {
  const std::uint32_t taken = supply_.queues().in.taken();
  const std::uint32_t came = taken - std::exchange(lingered_at_, taken);
  const std::uint32_t rounds = std::min(came / tasks_for_a_round, most_lingering_rounds);
  for (std::uint32_t i = 0; i < rounds; ++i) wait_a_round(monotonic::now());
  return rounds != 0;
}

/// Without stealing any worker may search: no other thread counts on what it finds.
task_header* searcher::search() noexcept {
  shared& engine = seat_.engine();
  const bool stealing = engine.idle().stealing();
  if (stealing) {
    if (!supply_.is_searching() && !engine.idle().try_search(seat_.id())) return nullptr;
    supply_.note_searching();
  }
  worker_bits& spinning = engine.board(seat_.place().group).spinning;
  const std::size_t index = engine.index_in_group(seat_.id());
  spinning.set(index);
  has_woken_ = {};
  steals_ = stealing;
  task_header* t = spin();
  if (t == nullptr) t = look_around(steal_effort::thorough);
  spinning.claim(index);
  return t;
}

task_header* searcher::spin() noexcept {
  shared& engine = seat_.engine();
  const bool drives = engine.idle().drives();
  const auto until = monotonic::now() + seat_.rules_in_force().settings.idle.spin;
  task_header* t = look_around(steal_effort::usual);
  std::uint32_t rounds = 0;
  std::uint32_t next_look_around = 1;
  for (auto now = monotonic::now(); t == nullptr && !shared::is_over(engine.stage_byte()) && now < until;
       now = monotonic::now()) {
    wait_a_round(now);
    if (supply_.classes().of(task_class::latency).waiting())
      t = take_suited(task_class::latency, steal_effort::usual);
    if (t == nullptr) t = supply_.take_shared();
    if (t == nullptr && drives && seat_.poll_driver(seat_.place().group)) t = supply_.queues().ring.pop();
    if (t != nullptr || ++rounds != next_look_around) continue;
    next_look_around = rounds + std::min(rounds, most_rounds_between_looks);
    t = look_around(steal_effort::usual);
  }
  return t;
}

/// Offers the CPU to other threads, or pauses.
void searcher::wait_a_round(monotonic::time_point now) noexcept {
  if (!offers_.due(now)) {
    for (int i = 0; i < pauses_between_rounds; ++i) pause_core();
    return;
  }
  offer_cpu();
  offers_.made(now, monotonic::now());
}

/// Looks for what is urgent in the domain, then for timers and events, then for what the steal policy finds,
/// then for what can wait, and last for what other domains have no time for.
task_header* searcher::look_around(steal_effort effort) noexcept {
  task_header* t = take_suited(task_class::latency, effort);
  if (t == nullptr && seat_.engine().timers().fire_all_due(seat_)) t = supply_.queues().ring.pop();
  if (t == nullptr && seat_.engine().idle().drives() && seat_.poll_all_drivers())
    t = supply_.queues().ring.pop();
  if (t == nullptr && steals_) t = steal(effort);
  if (t == nullptr) t = take_suited(task_class::background, effort);
  if (t == nullptr && steals_) t = take_far_class();
  return t;
}

/// Takes a task of the domain's queue, unless an idle worker suits it better: then that one is to take it.
task_header* searcher::take_suited(task_class c, steal_effort effort) noexcept {
  domain_classes& classes = supply_.classes();
  if (!classes.of(c).ready()) return nullptr;
  bool& has_woken = has_woken_[static_cast<std::size_t>(c) - 1];
  if (steals_ && seat_.engine().idle().leaves_to_better_suited(seat_.id(), c,
                                                               effort == steal_effort::thorough, has_woken))
    return nullptr;
  return supply_.take_class(classes, c);
}

/// Takes a task with a class from the nearest domain where no worker is idle and enough tasks wait.
task_header* searcher::take_far_class() noexcept {
  shared& engine = seat_.engine();
  const group_id own = seat_.place().group;
  for (const group_id g : engine.groups()[own].steal_order) {
    domain_classes& there = engine.classes(g);
    if (&there == &supply_.classes() || !there.ready()) continue;
    if (!engine.idle().may_take_class(own, engine.groups()[g].domain)) continue;
    task_header* t = supply_.take_class(there, task_class::latency);
    if (t == nullptr) t = supply_.take_class(there, task_class::background);
    if (t != nullptr) return t;
  }
  return nullptr;
}

/// The steal policy says where to look, and in which order.
task_header* searcher::steal(steal_effort effort) noexcept {
  shared& engine = seat_.engine();
  const group_id own = seat_.place().group;
  task_header* t = nullptr;
  group_id asked = own; // the group about which `may_take` was asked last
  bool allowed = true;
  const steal_policy& policy = *seat_.rules_in_force().stealing;
  policy.visit(engine.view(), seat_.id(), seat_.rng(), effort, [&](const steal_stop& stop) {
    if (stop.group != asked) {
      asked = stop.group;
      allowed = engine.idle().may_take(own, asked);
    }
    if (!allowed) return false;
    t = stop.victim ? steal_from(engine.seat(*stop.victim), stop.level) : supply_.take_injected(stop.group);
    return t != nullptr;
  });
  return t;
}

/// Takes half of the victim's ring, or else half of its inbox, or else its oldest fork: first what the victim
/// would come to last.
task_header* searcher::steal_from(worker& victim, level distance) noexcept {
  const std::uint32_t most = with_room(seat_.rules_in_force().settings.steal.batch_max, supply_.room());
  worker_queues& from = victim.queues();
  task_chain stolen = from.ring.steal(most);
  if (stolen.size == 0) {
    const std::uint32_t half = half_of(from.in.size(), most);
    while (stolen.size < half) {
      task_header* t = from.in.pop();
      if (t == nullptr) break;
      stolen.push(t);
    }
  }
  if (stolen.size == 0)
    if (task_header* t = steal_fork(from)) stolen.push(t);
  if (stolen.size == 0) return nullptr;
  supply_.note_stolen(victim, distance, stolen.size);
  if (recording()) [[unlikely]]
    record_stolen(stolen, victim, distance);
  return supply_.push_all_but_first(stolen);
}

} // namespace corewise::detail
