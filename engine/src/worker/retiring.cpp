#include "worker/shared.hpp"
#include "worker/worker.hpp"

// How a worker takes up newer rules, and retires when they have no place for it.

namespace corewise::detail {

void worker::follow_rules() noexcept {
  const rules& in_force = rules_in_force();
  lifo_.follow(in_force.settings.queues.lifo_cap);
  answers_.follow(*in_force.placing);
}

/// Takes up the newest rules. Call between two tasks.
void worker::renew_rules() noexcept {
  if (!rules_.take(engine_.newest_rules())) return;
  retired_ = !engine_.active(id());
  follow_rules();
  prefer_memory_of(engine_, place().group);
  if (!lifo_.has_slot()) // a task in the slot would never have its turn
    if (task_header* t = queues().lifo.take()) {
      supply_.push(t);
      engine_.idle().notify_pushed(id());
    }
  engine_.forget_old_rules();
}

/// Sends the tasks of this retired worker to others, also those that still come. If all workers of its group
/// have retired, sends those of the group's injection queue as well; if all of its domain have, those of the
/// domain's class queues. The worker may be called back meanwhile, before it can see the rules that say so:
/// without a look at that it would send to itself for ever.
void send_away(worker& retired) noexcept {
  shared& engine = retired.engine();
  worker_queues& queues = retired.queues();
  const group_id own = retired.place().group;
  if (task_header* t = queues.lifo.take()) engine.send_near(t, own);
  const auto send_all = [&](auto& queue) {
    while (!engine.active(retired.id())) {
      task_header* t = queue.pop();
      if (t == nullptr) return;
      engine.send_near(t, own);
    }
  };
  send_all(queues.ring);
  send_all(queues.in);
  send_all(queues.forks);
  engine.publish_load(retired.place());
  if (engine.idle().retired().injection_is_orphaned(own)) {
    task_chain waiting = engine.injection(own).pop(engine.injection(own).size());
    while (task_header* t = waiting.pop()) engine.send_near(t, own);
  }
  if (!engine.idle().retired().classes_are_orphaned(engine.groups()[own].domain)) return;
  domain_classes& classes = engine.classes(own);
  for (const task_class c : {task_class::latency, task_class::background})
    for (std::uint32_t left = classes.of(c).depth(); left > 0; --left)
      if (task_header* t = classes.of(c).pop()) engine.send_near(t, own, c);
}

} // namespace corewise::detail
