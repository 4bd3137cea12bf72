#include "runtime/debugger_view.hpp"

#include "runtime/runtime.hpp"
#include "worker/task_label.hpp"

#include <corewise/engine/blocking_scope.hpp>
#include <corewise/engine/detail/fork_join.hpp>
#include <corewise/engine/future.hpp>

namespace corewise::detail {

debugger_view::debugger_view(shared& of)
    : engine(of),
      layouts(&corewise_layouts),
      address(static_cast<const runtime*>(&of)),
      name(of.settings().name.c_str()),
      stage(&of.stage_byte()),
      seats(std::make_unique<debugger_seat[]>(of.layout().size())),
      seat_count(of.layout().size()),
      timers(of.timers().groups().data()),
      timer_count(of.timers().groups().size()),
      suspended(&of.suspended()),
      execution(reinterpret_cast<std::byte*>(&this_execution) -
                static_cast<std::byte*>(__builtin_thread_pointer())),
      root_act(&coroutine_root::perform),
      resumption_act(&resumption::perform),
      foreign_act(&resumption::perform_foreign),
      label(&label_key) {
  for (std::uint32_t w = 0; w < seat_count; ++w) {
    worker& seat = of.seat(worker_id{w});
    seats[w] = {&seat.report(), &seat.entry(), &seat.queues(), seat.place().group.value};
  }
  for (std::size_t kind = 0; kind < wait_kinds; ++kind)
    waits[kind] = to_string(static_cast<wait_kind>(kind)).data(); // of a literal
  engine.registration().show(this);
}

debugger_view::~debugger_view() { engine.registration().show(nullptr); }

// The types are no C structs. Both compilers lay them out in the same way all the same.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// The name of a number is the text of what it is.
#define OFFSET(type, member)                                                                                 \
  add(#type "." #member, offsetof(type, member))           // NOLINT(cppcoreguidelines-macro-usage)
#define VALUE(of) add(#of, static_cast<std::uint64_t>(of)) // NOLINT(cppcoreguidelines-macro-usage)

constexpr void debugger_layouts::add(const char* name, std::uint64_t value) noexcept {
  debugger_number& added = numbers[count++];
  for (std::size_t i = 0; name[i] != 0; ++i) added.name[i] = name[i];
  added.value = value;
}

constexpr void debugger_layouts::add_coroutines() noexcept {
  add("promise", 2 * sizeof(void*)); // in a frame, behind two functions; task.hpp asserts its alignment
  OFFSET(task_header, act);
  OFFSET(task_header, mark);
  OFFSET(strand, owner);
  OFFSET(strand, engine);
  OFFSET(strand, continuation);
  OFFSET(strand, sibling);
  VALUE(strand_role::root);
  VALUE(strand_role::dropped);
  OFFSET(resumption, frame);
  OFFSET(resumption, root);
  OFFSET(join_point, parent_);
  OFFSET(join_point, root_);
  OFFSET(join_point, parent_is_foreign_);
  OFFSET(future_state, work);
  VALUE(value_chain::value_bit);
  VALUE(value_chain::join_bit);
  OFFSET(bound_value, key);
  OFFSET(bound_value, outer);
  OFFSET(blocking_scope, around_);
  OFFSET(task_label, name);
  OFFSET(task_label, id);
  OFFSET(task_label, kind);
  OFFSET(task_label, frame);
}

constexpr void debugger_layouts::add_engine() noexcept {
  OFFSET(engine_registration, shown_);
  OFFSET(debugger_view, address);
  OFFSET(debugger_view, name);
  OFFSET(debugger_view, stage);
  OFFSET(debugger_view, seats);
  OFFSET(debugger_view, seat_count);
  OFFSET(debugger_view, timers);
  OFFSET(debugger_view, timer_count);
  OFFSET(debugger_view, suspended);
  OFFSET(debugger_view, waits);
  OFFSET(debugger_view, execution);
  OFFSET(debugger_view, root_act);
  OFFSET(debugger_view, resumption_act);
  OFFSET(debugger_view, foreign_act);
  OFFSET(debugger_view, label);
  VALUE(sizeof(debugger_seat));
  OFFSET(debugger_seat, report);
  OFFSET(debugger_seat, entry);
  OFFSET(debugger_seat, queues);
  OFFSET(debugger_seat, group);
  OFFSET(worker_report, act_);
  OFFSET(worker_report, thread_);
  OFFSET(worker_report, execution_);
  OFFSET(execution, engine);
  OFFSET(execution, seat);
  OFFSET(execution, root);
  OFFSET(execution, within);
}

constexpr void debugger_layouts::add_waits() noexcept {
  OFFSET(suspended_table, chunks_);
  OFFSET(suspended_table::chunk, next);
  OFFSET(suspended_table::chunk, entries);
  VALUE(sizeof(suspended_table::chunk));
  VALUE(sizeof(suspension_entry));
  OFFSET(suspension_entry, in);
  OFFSET(suspension_entry, held);
  OFFSET(wait_record, kind);
  add("timer_group.heads", offsetof(timer_group, wheel_) + offsetof(timer_wheel, heads_));
  add("timer_group.head_count", sizeof(timer_wheel::heads_) / sizeof(timer_link));
  OFFSET(timer_node, task);
  OFFSET(timer_node, submits);
}

constexpr void debugger_layouts::add_queues() noexcept {
  OFFSET(board_entry, owner.running);
  OFFSET(board_entry, owner.lifo);
  OFFSET(board_entry, owner.ring_tail);
  OFFSET(board_entry, owner.fork_bottom);
  OFFSET(board_entry, shared.ring_head);
  OFFSET(board_entry, shared.fork_top);
  add("ring.cells", offsetof(worker_queues, ring) + offsetof(local_queue, cells_));
  add("ring.mask", offsetof(worker_queues, ring) + offsetof(local_queue, mask_));
  add("forks.array", offsetof(worker_queues, forks) + offsetof(fork_deque, array_));
  OFFSET(fork_deque::cells, mask_);
  OFFSET(fork_deque::cells, first_);
}

#undef OFFSET
#undef VALUE
#pragma GCC diagnostic pop

constexpr debugger_layouts debugger_layouts::make() noexcept {
  debugger_layouts all;
  all.registrations = &detail::registrations;
  all.add_coroutines();
  all.add_engine();
  all.add_waits();
  all.add_queues();
  return all;
}

} // namespace corewise::detail

[[gnu::used]] constinit const corewise::detail::debugger_layouts corewise_layouts =
    corewise::detail::debugger_layouts::make();
