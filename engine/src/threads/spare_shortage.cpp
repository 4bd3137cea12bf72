#include "threads/spare_shortage.hpp"

#include "threads/threads.hpp"
#include "worker/lent_seats.hpp"

#include <fmt/format.h>

namespace corewise::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds between_looks = 50ms;
/// A seat that has been lent for so long while tasks wait for it wants a spare thread.
constexpr std::chrono::nanoseconds patience = 100ms;
constexpr std::chrono::nanoseconds calm_for = 1s;
/// An engine in which no task begins for so long stands, where tasks wait.
constexpr std::chrono::nanoseconds stands_after = 1s;

} // namespace

spare_shortage::spare_shortage(shared& engine, const worker_threads& threads)
    : engine_(engine),
      threads_(threads),
      seen_(std::make_unique<sight[]>(engine.layout().size())) {}

void spare_shortage::look(monotonic::time_point now) noexcept {
  if (now - looked_at_ < between_looks) return;
  looked_at_ = now;
  look_at_progress(now);
  if (const std::size_t seats = count_short(now); seats != 0) {
    short_at_ = now;
    if (in_episode()) return;
    in_episode_.store(true, std::memory_order_relaxed);
    episodes_.store(episodes() + 1, std::memory_order_relaxed);
    report(seats);
  } else if (now - short_at_ >= calm_for) {
    in_episode_.store(false, std::memory_order_relaxed);
  }
}

void spare_shortage::look_at_progress(monotonic::time_point now) noexcept {
  const std::uint64_t begun = engine_.idle().work().begun();
  if (begun != begun_ || now - last_progress_look_ >= stands_after)
    begun_at_ = now; // or it has not looked for long
  begun_ = begun;
  last_progress_look_ = now;
  nothing_begins_.store(now - begun_at_ >= stands_after, std::memory_order_relaxed);
}

/// Returns whether a task waits that the worker would come to. One that has retired comes only to its own.
bool spare_shortage::work_waits_for(worker_id w) const noexcept {
  const queued_work& work = engine_.idle().work();
  if (!engine_.active(w)) return work.seems_to_wait_at(w);
  const group_id g = engine_.layout()[w].group;
  return work.seems_to_wait_at(w) || work.injected(g) != 0 || work.classes_wait(engine_.groups()[g].domain);
}

/// Returns how many seats have been lent for long while tasks wait for them.
std::size_t spare_shortage::count_short(monotonic::time_point now) noexcept {
  std::size_t seats = 0;
  for_each_lent(engine_, [&](worker_id w, std::uint64_t lending) {
    sight& before = seen_[w.value];
    if (before.lending != lending) before.lending = lending, before.since = now;
    if (now - before.since < patience) return;
    before.long_lent.store(lending, std::memory_order_relaxed);
    if (work_waits_for(w)) ++seats;
  });
  return seats;
}

void spare_shortage::report(std::size_t seats) noexcept {
  log_record record{.severity = log_severity::error, .code = log_code::out_of_spare_threads};
  try {
    const worker_threads::number threads = threads_.count();
    const char* why = threads.alive < threads.most ? "the system gives no more threads"
                                                   : "`blocking.spares_max` allows no more";
    const std::uint64_t waiting = tasks_waiting_for_a_seat(engine_);
    const log_record::number numbers[] = {{"waiting", static_cast<std::int64_t>(waiting)},
                                          {"workers_in_calls", static_cast<std::int64_t>(seats)},
                                          {"threads", static_cast<std::int64_t>(threads.alive)}};
    const std::string text = fmt::format(
        "out of spare threads: {} tasks wait for workers, of which {} are in blocking calls; the engine "
        "has {} workers and {} threads, and {}; calls that wait for tasks of this engine may never end",
        waiting, seats, engine_.layout().size(), threads.alive, why);
    record.numbers = numbers;
    record.text = text;
    engine_.notices().report(record);
  } catch (const std::bad_alloc&) {
    record.numbers = {};
    record.text = "out of spare threads, and there is no memory for a report";
    engine_.notices().log(record);
  }
}

} // namespace corewise::detail
