#include "idle.hpp"

#include "faults.hpp"
#include "fence.hpp"

#include <algorithm>
#include <functional>

namespace corewise::detail {

namespace {

/// Adds to a counter that only the calling thread writes.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

} // namespace

idle_workers::idle_workers(const locality_groups& groups, const worker_layout& layout,
                           std::span<const std::unique_ptr<group_board>> boards,
                           std::span<worker_queues* const> queues,
                           std::span<injection_queue* const> injection,
                           std::span<const std::unique_ptr<domain_classes>> classes, const profile& settings)
    : groups_(groups),
      layout_(layout),
      boards_(boards),
      queues_(queues),
      injection_(injection),
      classes_(classes),
      minimum_at_(settings.steal.minimum_at),
      stealing_(settings.steal.policy != "none"),
      lowest_first_(settings.idle.wake == wake_order::lowest),
      timeout_(settings.idle.park_timeout),
      ageing_(stealing_ && settings.queues.lifo_cap != 0 && settings.queues.lifo_age.has_value()),
      slots_(queues, settings.queues.lifo_age.value_or(std::chrono::nanoseconds{0})),
      domains_(std::make_unique<domain_state[]>(groups.domains().size())),
      seats_(std::make_unique<seat_state[]>(layout_.size())) {
  for (std::size_t d = 0; d < groups.domains().size(); ++d) {
    std::size_t workers = 0;
    std::vector<group_id>& by_speed = domains_[d].fastest_first;
    for (const group_id g : groups.domains()[d]) {
      workers += layout_.of_group(g).size();
      if (!layout_.of_group(g).empty()) by_speed.push_back(g);
    }
    const auto capacity = [&](group_id g) { return groups[g].capacity; };
    std::ranges::stable_sort(by_speed, std::ranges::greater{}, capacity);
    domains_[d].unequal = !by_speed.empty() && capacity(by_speed.front()) != capacity(by_speed.back());
    domains_[d].searchers_max = std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>((workers * settings.idle.searchers_per_mille + 999) / 1000));
  }
}

std::size_t idle_workers::index_in_group(worker_id w) const noexcept {
  return w.value - layout_.of_group(layout_[w].group).front().id.value;
}

std::uint32_t idle_workers::threshold(level l) const noexcept {
  switch (l) {
  case level::same_node: return minimum_at_.same_node;
  case level::same_package: return minimum_at_.same_package;
  case level::cross_package: return minimum_at_.cross_package;
  default: return 1;
  }
}

// --- the producer's side

void idle_workers::pushed(worker_id w) noexcept {
  interleave();
  full_fence(); // P2
  if (parked_.load(std::memory_order_relaxed) == 0) return;
  const group_id g = layout_[w].group;
  if (!stealing_) {
    // Nobody else would take it from there.
    if (!wake(g, index_in_group(w)) && injection_[g.value]->size() != 0) wake_for_injection(g);
    return;
  }
  interleave();
  if (domain_of(w).searching.load(std::memory_order_relaxed) != 0) return; // P3
  interleave();
  if (!wake_in_domain(w)) wake_farther(g);
}

bool idle_workers::wake(group_id g, std::size_t index) noexcept {
  worker_bits& parked = boards_[g.value]->parked;
  if (!parked.test(index) || !parked.claim(index)) return false; // pairs: claim
  interleave();
  parked_.fetch_sub(1, std::memory_order_relaxed);
  const worker_id w = layout_.of_group(g)[index].id;
  domain_of(w).searching.fetch_add(1, std::memory_order_seq_cst);
  interleave();
  seats_[w.value].counted.store(true, std::memory_order_release); // pairs: count
  interleave();
  if (!loses_wake()) seats_[w.value].bed.unpark();
  return true;
}

bool idle_workers::wake_any(group_id g) noexcept {
  const worker_bits& parked = boards_[g.value]->parked;
  for (std::size_t i = parked.lowest(); i < parked.size(); i = parked.lowest())
    if (wake(g, i)) return true;
  return false;
}

/// Somebody who takes from the injection queue of g, which may be that of the whole engine.
void idle_workers::wake_for_injection(group_id g) noexcept {
  for (const group_id other : groups_[g].steal_order)
    if (injection_[other.value] == injection_[g.value] && wake_any(other)) return;
}

bool idle_workers::wake_in_domain(worker_id nearest) noexcept {
  const group_id own = layout_[nearest].group;
  if (!lowest_first_) {
    if (wake(own, index_in_group(nearest)) || wake_any(own)) return true;
  }
  for (const group_id g : groups_.domains()[groups_[own].domain])
    if (wake_any(g)) return true;
  return false;
}

void idle_workers::wake_farther(group_id from) noexcept {
  std::uint32_t waiting = 0;
  for (const group_id g : groups_[from].steal_order) {
    const level l = groups_.level_between(from, g);
    if (l <= level::same_domain || !boards_[g.value]->parked.any()) continue;
    if (waiting == 0) waiting = waiting_in_domain(groups_[from].domain);
    if (waiting < threshold(l)) return; // the thresholds grow with distance
    if (domains_[groups_[g].domain].searching.load(std::memory_order_relaxed) != 0) return;
    if (wake_any(g)) return;
  }
}

void idle_workers::pushed(std::uint32_t domain, task_class c) noexcept {
  full_fence(); // P2
  if (parked_.load(std::memory_order_relaxed) == 0) return;
  if (stealing_ && domains_[domain].searching.load(std::memory_order_relaxed) != 0) { // P3
    if (c == task_class::latency && domains_[domain].unequal) wake_fastest(domain);
    return;
  }
  wake_for_class(domain, c);
}

void idle_workers::wake_for_class(std::uint32_t domain, task_class c) noexcept {
  if (wake_suited(domain, c) || !stealing_) return;
  wake_farther(groups_.domains()[domain].front());
}

bool idle_workers::wake_suited(std::uint32_t domain, task_class c) noexcept {
  const std::vector<group_id>& by_speed = domains_[domain].fastest_first;
  if (c == task_class::background)
    return std::any_of(by_speed.rbegin(), by_speed.rend(), [&](group_id g) { return wake_any(g); });
  return std::any_of(by_speed.begin(), by_speed.end(), [&](group_id g) { return wake_any(g); });
}

/// Somebody of the domain's fastest kind, unless one of them is looking for work.
void idle_workers::wake_fastest(std::uint32_t domain) noexcept {
  const std::vector<group_id>& by_speed = domains_[domain].fastest_first;
  const auto as_fast = [&](group_id g) { return groups_[g].capacity == groups_[by_speed.front()].capacity; };
  for (const group_id g : by_speed)
    if (as_fast(g) && boards_[g.value]->spinning.any()) return;
  for (const group_id g : by_speed)
    if (as_fast(g) && wake_any(g)) return;
}

/// Visits the groups of w's domain that suit class c better than w's own, until one answers true; answers whether one
/// did.
template <class Visit>
bool idle_workers::any_better_suited(worker_id w, task_class c, const Visit& visit) const noexcept {
  const locality_group& own = groups_[layout_[w].group];
  const domain_state& domain = domains_[own.domain];
  if (!domain.unequal) return false;
  return std::ranges::any_of(domain.fastest_first, [&](group_id g) {
    const bool better =
        c == task_class::latency ? groups_[g].capacity > own.capacity : groups_[g].capacity < own.capacity;
    return better && visit(g);
  });
}

/// Whether somebody of g was woken and has not come yet.
bool idle_workers::on_its_way(group_id g) const noexcept {
  return std::ranges::any_of(layout_.of_group(g), [&](const worker_place& p) {
    return seats_[p.id.value].counted.load(std::memory_order_relaxed);
  });
}

bool idle_workers::leave(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
  if (handed) return true;
  handed = any_better_suited(w, c, [&](group_id g) { return wake_any(g) || on_its_way(g); });
  if (handed || last_round) return handed;
  return any_better_suited(w, c, [&](group_id g) { return boards_[g.value]->spinning.any(); });
}

std::uint32_t idle_workers::waiting_in_domain(std::uint32_t domain) const noexcept {
  std::uint32_t waiting = classes_[domain]->depth();
  for (const group_id g : groups_.domains()[domain]) {
    waiting += injection_[g.value]->size();
    for (const worker_place& p : layout_.of_group(g)) waiting += queues_[p.id.value]->waiting();
  }
  return waiting;
}

bool idle_workers::work_in_group(group_id g) const noexcept {
  if (injection_[g.value]->size() != 0) return true;
  for (const worker_place& p : layout_.of_group(g))
    if (queues_[p.id.value]->ready()) return true;
  return false;
}

void idle_workers::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);
  full_fence(); // with W2: who does not see the flag is seen asleep, or takes the token when it lies down
  for (std::size_t w = 0; w < layout_.size(); ++w) seats_[w].bed.unpark();
}

// --- the worker's side

bool idle_workers::try_search(worker_id w) noexcept {
  if (!stealing_) return false;
  domain_state& d = domain_of(w);
  // Two may pass at once and overshoot by one for a moment; the bound is a matter of cost, not of
  // correctness.
  if (d.searching.load(std::memory_order_relaxed) >= d.searchers_max) return false;
  d.searching.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

void idle_workers::found_work(worker_id w) noexcept {
  domain_state& d = domain_of(w);
  const bool last = d.searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (stealing_ && !last) return;
  interleave();
  full_fence();
  if (parked_.load(std::memory_order_relaxed) == 0) return;
  const group_id own = layout_[w].group;
  const std::uint32_t domain = groups_[own].domain;
  const domain_classes& classes = *classes_[domain];
  if (!stealing_) {
    // It may have been woken for the injection queue, or for a task with a class, and have found work of its own.
    if (injection_[own.value]->size() != 0) wake_for_injection(own);
    if (classes.of(task_class::latency).ready()) wake_for_class(domain, task_class::latency);
    if (classes.of(task_class::background).ready()) wake_for_class(domain, task_class::background);
    return;
  }
  if (classes.of(task_class::latency).ready()) return wake_for_class(domain, task_class::latency);
  for (const group_id g : groups_.domains()[domain]) {
    if (!work_in_group(g)) continue;
    if (!wake_in_domain(w)) wake_farther(own);
    return;
  }
  if (classes.of(task_class::background).ready()) wake_for_class(domain, task_class::background);
}

bool idle_workers::work_for(worker_id w) const noexcept {
  const group_id own = layout_[w].group;
  if (queues_[w.value]->ready() || injection_[own.value]->size() != 0) return true;
  if (classes_[groups_[own].domain]->ready()) return true;
  if (!stealing_) return false;
  for (const group_id g : groups_[own].steal_order) {
    if (work_in_group(g) && may_take(own, g)) return true;
    const std::uint32_t domain = groups_[g].domain;
    if (classes_[domain]->ready() && may_take_class(own, domain)) return true;
  }
  return false;
}

bool idle_workers::may_take_class(group_id thief, std::uint32_t domain) const noexcept {
  for (const group_id g : domains_[domain].fastest_first)
    if (boards_[g.value]->parked.any() || boards_[g.value]->spinning.any()) return false;
  return may_take(thief, groups_.domains()[domain].front());
}

bool idle_workers::may_take(group_id thief, group_id victim) const noexcept {
  const level l = groups_.level_between(thief, victim);
  return l <= level::same_domain || waiting_in_domain(groups_[victim].domain) >= threshold(l);
}

void idle_workers::park(worker_id w, bool searching) noexcept {
  worker_bits& bits = boards_[layout_[w].group.value]->parked;
  bool last = true;
  parked_.fetch_add(1, std::memory_order_seq_cst); // before the claimer can count down for it
  interleave();
  bits.set(index_in_group(w)); // W1, pairs: claim
  interleave();
  if (searching) last = domain_of(w).searching.fetch_sub(1, std::memory_order_seq_cst) == 1;
  full_fence(); // W2
  interleave();
  // Not the last: another searcher looks after the rest, if there are such. Own queues are cheap to look at, so that
  // is always done.
  const bool stay = stopping_.load(std::memory_order_relaxed) ||
                    (last || !stealing_ ? work_for(w) : queues_[w.value]->ready()); // W3
  interleave();
  if (stay && bits.claim(index_in_group(w))) return wake_up_oneself(w); // pairs: claim
  count(seats_[w.value].counts.parks);
  sleep(w); // W4
}

void idle_workers::wake_up_oneself(worker_id w) noexcept {
  parked_.fetch_sub(1, std::memory_order_relaxed);
  domain_of(w).searching.fetch_add(1, std::memory_order_seq_cst);
}

void idle_workers::sleep(worker_id w) noexcept {
  seat_state& seat = seats_[w.value];
  interleave();
  std::uint32_t expected = nobody;
  const bool sentinel =
      (ageing_ || timeout_.kind == park_timeout_setting::mode::adaptive) &&
      sentinel_.compare_exchange_strong(expected, w.value, std::memory_order_seq_cst); // pairs: duty
  const bool token = sentinel ? watch(w) : seat.bed.park(fixed_timeout());
  if (sentinel)
    leave_watch();
  else if (!token)
    count(seat.counts.timeouts);
  interleave();
  if (boards_[layout_[w].group.value]->parked.claim(index_in_group(w))) { // pairs: claim
    // Nobody claimed us: a time-out, or a token that was left for an earlier sleep.
    wake_up_oneself(w);
  } else {
    while (!seat.counted.load(std::memory_order_acquire)) seat.bed.park({}); // pairs: count
    seat.counted.store(
        false, std::memory_order_relaxed); // whoever claims the bit next sees the owner set it after this
    count(seat.counts.wakes);
  }
  if (sentinel) hand_watch_over(w);
}

std::optional<std::chrono::nanoseconds> idle_workers::fixed_timeout() const noexcept {
  if (timeout_.kind != park_timeout_setting::mode::fixed) return std::nullopt;
  return timeout_.fixed;
}

// --- the sentinel

void idle_workers::watch_slots() noexcept {
  if (!ageing_) return;
  full_fence(); // S3
  interleave();
  if (watching_.load(std::memory_order_relaxed)) return; // S4
  const std::uint32_t sentinel = sentinel_.load(std::memory_order_relaxed);
  if (sentinel != nobody) seats_[sentinel].bed.unpark();
}

/// Sleeps as the sentinel. True: until it was claimed; false: it has found work that nobody took, or its time is over.
bool idle_workers::watch(worker_id w) noexcept {
  seat_state& seat = seats_[w.value];
  const worker_bits& parked = boards_[layout_[w].group.value]->parked;
  const bool adaptive = timeout_.kind == park_timeout_setting::mode::adaptive;
  std::chrono::nanoseconds patience =
      adaptive ? patience_min : fixed_timeout().value_or(std::chrono::hours{1});
  std::chrono::nanoseconds slot_look = slot_look_min;
  auto deadline = monotonic::now() + patience;
  std::optional<std::uint64_t> seen;
  for (;;) {
    const bool watching = ageing_ && look_at_slots(w);
    const auto left = std::max(deadline - monotonic::now(), std::chrono::nanoseconds{1});
    if (seat.bed.park(watching ? std::min(slot_look, left) : left)) {
      const bool claimed = !parked.test(index_in_group(w), std::memory_order_acquire);
      if (claimed || stopping_.load(std::memory_order_relaxed)) return true;
      slot_look = slot_look_min; // somebody has used a slot
    } else {
      slot_look = std::min(slot_look * 2, slot_look_max);
    }
    const auto late = monotonic::now() - deadline;
    if (late < std::chrono::nanoseconds{0}) continue;
    count(seat.counts.timeouts);
    if (timeout_.kind == park_timeout_setting::mode::fixed) return false;
    if (adaptive) {
      const std::optional<std::uint64_t> now = stalled_work(w);
      // Who looks too late was stopped, or had no CPU, and so maybe were those who were about to take the work.
      const bool in_time = late < second_look / 2;
      if (in_time && now && now == seen) {
        count(seat.counts.rescued);
        return false;
      }
      // Work may be seen between its push and its wake-up: whoever pushes may lose its CPU just there for a while.
      patience = now ? second_look : std::min(patience * 2, patience_max);
      seen = now;
    }
    deadline = monotonic::now() + patience;
  }
}

/// Whether to look again soon, because somebody is awake.
bool idle_workers::look_at_slots(worker_id w) noexcept {
  watching_.store(true, std::memory_order_relaxed);
  slots_.look(monotonic::now(), [&](std::size_t victim, task_header* t) {
    count(seats_[w.value].counts.lifo_rescued);
    const worker_id id{static_cast<std::uint32_t>(victim)};
    if (!queues_[victim]->in.push(t)) injection_[layout_[id].group.value]->push(t);
    pushed(id);
  });
  const auto workers = static_cast<std::uint32_t>(layout_.size());
  if (parked_.load(std::memory_order_relaxed) != workers) return true;
  watching_.store(false, std::memory_order_relaxed); // T1
  interleave();
  full_fence(); // T2
  interleave();
  const bool watching = parked_.load(std::memory_order_relaxed) != workers; // T3
  if (watching) watching_.store(true, std::memory_order_relaxed);
  return watching;
}

/// Gives the duty up.
void idle_workers::leave_watch() noexcept {
  watching_.store(false, std::memory_order_relaxed);
  sentinel_.store(nobody, std::memory_order_seq_cst); // pairs: duty
}

/// Somebody else who sleeps must take the duty, so it is woken and lies down again.
void idle_workers::hand_watch_over(worker_id w) noexcept {
  full_fence(); // a sleeper that found the duty taken is counted
  interleave();
  if (!ageing_ || parked_.load(std::memory_order_relaxed) == 0) return;
  if (sentinel_.load(std::memory_order_relaxed) != nobody || stopping_.load(std::memory_order_relaxed))
    return;
  for (const group_id g : groups_[layout_[w].group].steal_order)
    if (wake_any(g)) return;
}

std::optional<std::uint64_t> idle_workers::stalled_work(worker_id w) const noexcept {
  if (!work_for(w)) return std::nullopt;
  std::uint64_t begun = 0; // whoever takes tasks begins one of them at once
  for (const worker_queues* q : queues_) begun += q->started();
  return begun;
}

} // namespace corewise::detail
