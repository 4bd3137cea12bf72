#include "books/sampling.hpp"
#include "worker/shared.hpp"
#include "worker/task_event.hpp"
#include "worker/worker.hpp"

// How a worker uses its group's driver (drivers.hpp). It looks there as the last of its own sources,
// before it rests; at the end of each tick; and while it searches.

namespace corewise::detail {

bool worker::poll_driver(group_id g) noexcept {
  ready_tasks found;
  const bool serves = g == place_.group || engine_.idle().is_neglected(g);
  queued_again_ = 0;
  const std::size_t most = rules_in_force().settings.io.batch;
  const std::size_t events = engine_.idle().poll(id(), g, most, found);
  if (events != 0 && recording()) [[unlikely]]
    record_worker(*this, event_code::polled, events);
  hand_on(found, g, serves);
  return events != 0;
}

bool worker::poll_all_drivers() noexcept {
  bool any = false;
  for (const group_id g : engine_.groups()[place_.group].steal_order)
    if (engine_.idle().outstanding(g)) any = poll_driver(g) || any;
  return any;
}

/// Looks for events after as many as it takes of these at a time, so that the others have their turn.
void worker::queue_again(resumption& coroutine) noexcept {
  note_queued(coroutine, engine_.number());
  push_yielded(&coroutine);
  if (++queued_again_ >= rules_in_force().settings.io.batch) tick_.look_next();
}

/// Queues what the driver of group g has found: here, if this worker serves the group, or else near where it ran last.
void worker::hand_on(ready_tasks& found, group_id g, bool serves) noexcept {
  const bool here = serves && !retired_;
  task_chain ready;
  while (resumption* const coroutine = found.take_resumed()) {
    note_queued(*coroutine, engine_.number(), /*by_driver=*/true);
    if (here && resumes_here(*coroutine->root))
      ready.push(coroutine);
    else
      engine_.send_home(coroutine, *coroutine->root);
  }
  while (task_header* const t = found.take_begun()) {
    note_queued(*t, engine_.number(), /*by_driver=*/true);
    engine_.limit().admit_anyway();
    t->phase = engine_.drains().open_phase();
    books_.submitted[t->phase].add();
    if (t->run_as != task_class::normal)
      engine_.send_near(t, g, t->run_as);
    else if (here)
      ready.push(t);
    else
      engine_.send_near(t, g);
  }
  if (ready.size == 0) return;
  counts_.pushed.add(ready.size);
  if (publishing_.due_at_push(counts_.pushed.read())) engine_.publish_load(place_);
  supply_.push_ready(ready);
}

} // namespace corewise::detail
