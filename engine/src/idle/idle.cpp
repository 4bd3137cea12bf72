#include "idle/idle.hpp"

#include "base/faults.hpp"
#include "base/fence.hpp"

#include <corewise/policies/detail/atomic.hpp>

#include <algorithm>

namespace corewise::detail {

idle_workers::idle_workers(const locality_groups& groups, const worker_layout& layout,
                           std::span<const std::unique_ptr<group_board>> boards,
                           std::span<worker_queues* const> queues,
                           std::span<injection_queue* const> injection,
                           std::span<const std::unique_ptr<domain_classes>> classes, timer_watch& timers,
                           const swapped<rules>& newest)
    : idle_rules(groups, layout),
      boards_(boards),
      queues_(queues),
      injection_(injection),
      classes_(classes),
      timers_(timers),
      newest_(newest),
      slots_(queues),
      domains_(std::make_unique<domain_state[]>(groups.domains().size())),
      seats_(std::make_unique<seat_state[]>(layout_.size())) {
  set(newest.newest()->settings);
}

void idle_workers::set(const profile& p) noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  for (std::size_t d = 0; d < groups_.domains().size(); ++d) {
    std::uint32_t workers = 0;
    for (const group_id g : groups_.domains()[d]) workers += active_in(g);
    domains_[d].active.store(workers, relaxed);
    domains_[d].searching_max.store(one_searcher * searchers_of(workers, p.idle.searchers_per_mille),
                                    relaxed);
  }
  const auto minimum_at = minimum_at_of(p);
  for (std::size_t l = 0; l < level_count; ++l) minimum_at_[l].store(minimum_at[l], relaxed);
  lowest_first_.store(p.idle.wake == wake_order::lowest, relaxed);
  if (p.queues.lifo_cap != 0) slots_used_.store(true, relaxed);
  lifo_age_ns_.store(p.queues.lifo_age ? p.queues.lifo_age->count() : never, relaxed);
  using mode = park_timeout_setting::mode;
  const park_timeout_setting& timeout = p.idle.park_timeout;
  park_timeout_ns_.store(timeout.kind == mode::fixed      ? timeout.fixed.count()
                         : timeout.kind == mode::adaptive ? adapts
                                                          : never,
                         relaxed);
  stealing_.store(p.steal.policy != "none", relaxed);
}

/// Whether tasks are looked after that wait in LIFO slots.
bool idle_workers::ageing() const noexcept {
  return stealing() && slots_used_.load(std::memory_order_relaxed) &&
         lifo_age_ns_.load(std::memory_order_relaxed) != never;
}

bool idle_workers::all_parked() const noexcept {
  const std::uint64_t asleep = asleep_.load(std::memory_order_relaxed);
  return parked_of(asleep) + retired_of(asleep) == layout_.size();
}

bool idle_workers::asleep(worker_id w) const noexcept {
  return boards_[layout_[w].group.value]->parked.test(place_in_group(w)) &&
         (seats_[w.value].bed.occupied() || sentinel_.load(std::memory_order_relaxed) == w.value);
}

// --- the producer's side

void idle_workers::wake_for(worker_id w) noexcept {
  const group_id g = layout_[w].group;
  const bool retired = place_in_group(w) >= active_in(g);
  if (retired && wake(g, place_in_group(w))) return; // it hands over: others may be busy for ever
  announce(w);
}

bool idle_workers::wake(group_id g, std::size_t index) noexcept {
  worker_bits& parked = boards_[g.value]->parked;
  if (!parked.test(index) || !parked.claim(index)) return false; // pairs: claim
  const worker_id w = layout_.of_group(g)[index].id;
  asleep_.fetch_sub(seats_[w.value].weight.load(std::memory_order_relaxed), std::memory_order_relaxed);
  join_searchers(w);
  seats_[w.value].counted.store(true, std::memory_order_release); // pairs: count
  if (!loses_wake()) seats_[w.value].bed.unpark();
  return true;
}

/// Whether somebody of g sleeps who has not retired. The retired ones are the last of their group.
bool idle_workers::can_wake(group_id g) const noexcept {
  return boards_[g.value]->parked.lowest() < active_in(g);
}

bool idle_workers::wake_any(group_id g) noexcept {
  while (can_wake(g))
    if (wake(g, boards_[g.value]->parked.lowest())) return true;
  return false;
}

void idle_workers::wake_all() noexcept {
  full_fence(); // with W2: who does not see the change is seen asleep
  for (const locality_group& g : groups_.groups())
    for (std::size_t i = 0; i < layout_.of_group(g.id).size(); ++i) wake(g.id, i);
}

/// Somebody who takes from the injection queue of g, which may be that of the whole engine.
void idle_workers::wake_for_injection(group_id g) noexcept {
  for (const group_id other : groups_[g].steal_order)
    if (injection_[other.value] == injection_[g.value] && wake_any(other)) return;
}

void idle_workers::pushed(std::uint32_t domain, task_class c) noexcept {
  full_fence(); // P2
  if (asleep_.load(std::memory_order_relaxed) == 0) return;
  announce(domain, c); // P3
}

/// A retired worker of the domain, where nobody else need ever look at what waits there.
bool idle_workers::wake_to_hand_over(std::uint32_t domain) noexcept {
  if (!classes_are_left(domain)) return false;
  for (const group_id g : kinds_[domain].fastest_first) {
    const worker_bits& parked = boards_[g.value]->parked;
    for (std::size_t i = parked.lowest(); i < parked.size(); i = parked.lowest())
      if (wake(g, i)) return true;
  }
  return false;
}

// Out of line: whoever looks for work mostly finds no task with a class, and asks neither.
bool idle_workers::leave(worker_id w, task_class c, bool last_round, bool& handed) noexcept {
  return idle_rules::leave(w, c, last_round, handed);
}
bool idle_workers::may_take_class(group_id thief, std::uint32_t domain) const noexcept {
  return may_steal_class(thief, domain);
}

/// Whether somebody of g who has not retired was woken and has not come yet.
bool idle_workers::on_its_way(group_id g) const noexcept {
  return std::ranges::any_of(layout_.of_group(g).first(active_in(g)), [&](const worker_place& p) {
    return seats_[p.id.value].counted.load(std::memory_order_relaxed);
  });
}

std::uint32_t idle_workers::waiting_in(std::uint32_t domain) const noexcept {
  std::uint32_t waiting = classes_[domain]->depth();
  for (const group_id g : groups_.domains()[domain]) {
    waiting += injection_[g.value]->size();
    for (const worker_place& p : layout_.of_group(g)) waiting += queues_[p.id.value]->waiting();
  }
  return waiting;
}

bool idle_workers::work_in(group_id g) const noexcept {
  if (injection_[g.value]->size() != 0) return true;
  for (const worker_place& p : layout_.of_group(g))
    if (queues_[p.id.value]->ready()) return true;
  return false;
}

void idle_workers::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst); // pairs: P2, W2
  full_fence(); // with W2: who does not see the flag is seen asleep, or takes the token when it lies down
  for (std::size_t w = 0; w < layout_.size(); ++w) seats_[w].bed.unpark();
}

// --- the worker's side

bool idle_workers::try_search(worker_id w) noexcept {
  if (!stealing()) return false;
  const domain_state& d = domain_of(w);
  // Two may pass at once and overshoot by one for a moment; the bound is a matter of cost, not of
  // correctness.
  if (d.searching.load(std::memory_order_relaxed) >= d.searching_max.load(std::memory_order_relaxed))
    return false;
  join_searchers(w);
  return true;
}

bool idle_workers::ask(std::uint32_t domain) noexcept {
  atomic<std::uint32_t>& searching = domains_[domain].searching;
  std::uint32_t word = searching.load(std::memory_order_relaxed);
  if ((word & asked) == 0) word = searching.fetch_or(asked, std::memory_order_seq_cst); // pairs: F2, G2
  return anybody_in(word);
}

/// Unless somebody searches there by now, or has taken it back.
bool idle_workers::take_back(std::uint32_t domain) noexcept {
  atomic<std::uint32_t>& searching = domains_[domain].searching;
  std::uint32_t word = asked;
  if (!searching.compare_exchange_strong(word, 0, std::memory_order_seq_cst)) return false; // pairs: F2, G2
  full_fence();
  return true;
}

void idle_workers::found_work(worker_id w) noexcept {
  const bool last = leave_searchers(w);
  if (sentinel_.load(std::memory_order_seq_cst) == nobody) hand_watch_over(w); // D4, pairs: D2, D4
  if (stealing() && !last) return;
  full_fence();
  if (anybody_parked()) pass_on_rest(w);
}

bool idle_workers::work_for(worker_id w) const noexcept {
  const group_id own = layout_[w].group;
  if (queues_[w.value]->ready() || injection_[own.value]->size() != 0) return true;
  const std::uint32_t domain = groups_[own].domain;
  if (classes_[domain]->ready()) return true;
  if (!stealing()) return false;
  return std::ranges::any_of(groups_[own].steal_order, [&](group_id g) {
    return groups_[g].domain == domain ? work_in(g) : may_find(own, g);
  });
}

bool idle_workers::injection_is_left(group_id g) const noexcept {
  for (std::size_t other = 0; other < injection_.size(); ++other)
    if (injection_[other] == injection_[g.value] && active_in({static_cast<std::uint32_t>(other)}) != 0)
      return false;
  return true;
}

/// Whether a retired worker has something for others.
bool idle_workers::to_hand_over(worker_id w) const noexcept {
  const group_id own = layout_[w].group;
  const std::uint32_t domain = groups_[own].domain;
  return queues_[w.value]->ready() || (injection_[own.value]->size() != 0 && injection_is_left(own)) ||
         (classes_[domain]->ready() && classes_are_left(domain));
}

/// The last searcher has retired, and wakes somebody for what it sees instead of doing it.
void idle_workers::pass_on(group_id from) noexcept {
  if (!anybody_parked()) return;
  if (!stealing()) {
    if (injection_[from.value]->size() != 0) wake_for_injection(from);
    return pass_classes_on(groups_[from].domain);
  }
  for (const group_id g : groups_[from].steal_order) {
    const std::uint32_t domain = groups_[g].domain;
    if (searching(domain)) continue;
    if (!work_in(g) || layout_.of_group(g).empty())
      pass_classes_on(domain);
    else if (!wake_in_domain(layout_.of_group(g).front().id))
      wake_farther(g);
  }
}

void idle_workers::park(worker_id w, const parking& as) noexcept {
  worker_bits& bits = boards_[layout_[w].group.value]->parked;
  bool last = true;
  const std::uint64_t weight = as.retired ? one_retired : one_parked;
  seats_[w.value].weight.store(weight, std::memory_order_relaxed);
  // Before the claimer can count down for it.
  asleep_.fetch_add(weight, std::memory_order_seq_cst); // pairs: P2, W2
  bits.set(place_in_group(w));                          // W1, pairs: claim
  if (as.searching) last = leave_searchers(w);
  full_fence(); // W2
  bool stay = stopping_.load(std::memory_order_relaxed) || newest_.newest() != as.by;
  if (!stay) stay = as.retired ? to_hand_over(w) : stays(w, last);      // R3, W3
  if (stay && bits.claim(place_in_group(w))) return wake_up_oneself(w); // pairs: claim
  if (as.retired) {
    if (last || !stealing()) pass_on(layout_[w].group);
    if (sentinel_.load(std::memory_order_relaxed) == nobody)
      hand_watch_over(w); // it may have been the last one; D4
  }
  count(seats_[w.value].counts.parks);
  const bool others_search = as.searching ? !last : searching(groups_[layout_[w].group].domain); // D2
  const bool leaves_duty = std::exchange(seats_[w.value].handed_over, false) && others_search;
  sleep(w, leaves_duty); // W4
}

void idle_workers::wake_up_oneself(worker_id w) noexcept {
  asleep_.fetch_sub(seats_[w.value].weight.load(std::memory_order_relaxed), std::memory_order_relaxed); // own
  join_searchers(w);
}

void idle_workers::sleep(worker_id w, bool leaves_duty) noexcept {
  seat_state& seat = seats_[w.value];
  std::uint32_t expected = nobody;
  const bool retired = seat.weight.load(std::memory_order_relaxed) == one_retired; // own
  const bool sentinel =
      !retired && !leaves_duty &&
      (ageing() || timeout().kind == park_timeout_setting::mode::adaptive || timers_.pending()) &&
      sentinel_.compare_exchange_strong(expected, w.value, std::memory_order_seq_cst); // pairs: duty
  const bool token = sentinel ? watch(w) : seat.bed.park(retired ? std::nullopt : fixed_timeout());
  if (sentinel)
    leave_watch();
  else if (!token)
    count(seat.counts.timeouts);
  if (boards_[layout_[w].group.value]->parked.claim(place_in_group(w))) { // pairs: claim
    // Nobody claimed us: a time-out, or a token that was left for an earlier sleep.
    wake_up_oneself(w);
  } else {
    while (!seat.counted.load(std::memory_order_acquire)) seat.bed.park({}); // pairs: count
    seat.counted.store(
        false, std::memory_order_relaxed); // whoever claims the bit next sees the owner set it after this
    count(seat.counts.wakes);
  }
}

park_timeout_setting idle_workers::timeout() const noexcept {
  using mode = park_timeout_setting::mode;
  const std::int64_t ns = park_timeout_ns_.load(std::memory_order_relaxed);
  if (ns == adapts) return {mode::adaptive, {}};
  if (ns == never) return {mode::never, {}};
  return {mode::fixed, std::chrono::nanoseconds{ns}};
}

std::optional<std::chrono::nanoseconds> idle_workers::fixed_timeout() const noexcept {
  const park_timeout_setting now = timeout();
  if (now.kind != park_timeout_setting::mode::fixed) return std::nullopt;
  return now.fixed;
}

} // namespace corewise::detail
