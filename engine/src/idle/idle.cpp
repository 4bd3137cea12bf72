#include "idle/idle.hpp"

#include "base/fence.hpp"

namespace corewise::detail {

idle_workers::idle_workers(const locality_groups& groups, const worker_layout& layout,
                           std::span<const std::unique_ptr<group_board>> boards,
                           std::span<worker_queues* const> queues,
                           std::span<injection_queue* const> injection,
                           std::span<const std::unique_ptr<domain_classes>> classes, timer_watch& timers,
                           const swapped<rules>& newest)
    : groups_(groups),
      layout_(layout),
      newest_(newest),
      wakes_(groups, layout, boards, queued_work(groups, layout, queues, injection, classes)),
      sentinel_(groups, layout, wakes_, timers) {
  set(newest.newest()->settings);
}

bool idle_workers::attach(std::vector<std::shared_ptr<driver>> by_group) noexcept {
  if (!wakes_.sleepers().drivers().attach(std::move(by_group))) return false;
  wake_all(); // so that sleepers lie down again, in the drivers
  return true;
}

void idle_workers::operation_begun(group_id g) noexcept {
  if (!wakes_.sleepers().drivers().want(g)) return;
  full_fence(); // with W2: a sleeper that found the driver held is seen asleep
  wakes_.wake_for_driver(g);
}

std::size_t idle_workers::poll(worker_id w, group_id g, std::size_t most, ready_tasks& found) noexcept {
  drivers& all = wakes_.sleepers().drivers();
  if (layout_[w].group == g) return all.poll(g, most, found);
  bool wanted = false;
  const std::size_t events = all.visit(g, most, found, wanted);
  if (wanted) wakes_.wake_for_driver(g); // Y3
  return events;
}

void idle_workers::found_work(worker_id w) noexcept {
  const bool last = wakes_.searchers().leave(domain_of(w)); // D3
  sentinel_.hand_over_if_free(w);                           // D4
  if (last || !stealing()) wakes_.found_work(w);
}

void idle_workers::park(worker_id w, const parking& as) noexcept {
  sleepers& beds = wakes_.sleepers();
  searchers& search = wakes_.searchers();
  beds.lie_down(w, as.retired); // W1
  const bool last = !as.searching || search.leave(domain_of(w));
  full_fence(); // W2
  bool stay = beds.ended() || newest_.newest() != as.by;
  if (!stay) stay = as.retired ? wakes_.retired().holds_work(w) : wakes_.sees_work(w, last); // R3, W3
  if (stay && beds.claim_itself(w)) return search.join(domain_of(w));
  if (as.retired) {
    if (last || !stealing()) wakes_.wake_for_all_seen(layout_[w].group);
    sentinel_.hand_over_if_free(w); // the worker may have been the sentinel
    if (drives()) hand_over_driver(w);
  }
  beds.count_park(w, as.begun);
  const bool others_search = as.searching ? !last : search.any(domain_of(w)); // D2
  sleep(w, as, sentinel_.leaves_duties(w, others_search));                    // W4
}

/// The worker may have slept in the driver when others of its group lay down (K4).
void idle_workers::hand_over_driver(worker_id w) noexcept {
  full_fence(); // after K3
  const group_id g = layout_[w].group;
  if (wakes_.sleepers().drivers().want(g)) wakes_.wake_any(g);
}

void idle_workers::sleep(worker_id w, const parking& as, bool leaves_duties) noexcept {
  sleepers& beds = wakes_.sleepers();
  if (!as.retired && !leaves_duties && sentinel_.take_duties(w))
    sentinel_.sleep(w);
  else if (beds.sleep(w, as.retired ? std::nullopt : wakes_.settings().fixed_timeout()) ==
           sleepers::woken::in_time)
    add_own(beds.counts(w).timeouts, 1);
  if (beds.claim_itself(w)) { // W5
    // No waker has claimed it: its time is over, or the token was left for an earlier sleep.
    wakes_.searchers().join(domain_of(w));
    beds.note_wake(w, {});
  } else {
    beds.await_call(w);
    add_own(beds.counts(w).wakes, 1);
    beds.note_wake(w, as.retired ? std::optional<std::uint64_t>() : as.begun);
  }
}

} // namespace corewise::detail
