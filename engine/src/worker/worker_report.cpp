#include "worker/worker_report.hpp"

#include "base/chain_walk.hpp"
#include "base/demangled.hpp"
#include "base/function_name.hpp"
#include "base/peek.hpp"
#include "worker/kind_source.hpp"
#include "worker/shared.hpp"
#include "worker/task_label.hpp"
#include "worker/worker.hpp"

#include <corewise/engine/detail/execution.hpp>
#include <corewise/engine/future.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace corewise::detail {

namespace {

constexpr std::size_t longest_symbol = 65'536;

constexpr auto peek_at = [](const auto* from, auto& to) { return peek(from, to); };

/// Returns the text at an address, cut after `most` characters; nothing if there is no memory, or no text.
std::string text_at(const char* from, std::size_t most) {
  constexpr std::size_t page = 4096;
  std::string text;
  while (text.size() != most) {
    char part[128];
    const std::size_t to_page_end = page - reinterpret_cast<std::uintptr_t>(from) % page;
    const std::size_t bytes = std::min({most - text.size(), to_page_end, sizeof(part)});
    if (!peek(from, part, bytes)) return {};
    const char* const end = std::find_if(part, part + bytes, [](unsigned char c) { return c < ' '; });
    text.append(static_cast<const char*>(part), end);
    if (end != part + bytes) return *end == 0 ? text : std::string();
    from += bytes;
  }
  return text;
}

/// Returns the name of the coroutine with that frame.
std::string name_of_frame(const void* frame) {
  const void* resume = nullptr; // at its end: null
  if (!peek(static_cast<const void* const*>(frame), resume) || resume == nullptr) return {};
  return coroutine_name(resume);
}

/// Returns the kind of the task whose coroutine runs.
std::string kind_at(const strand& s, const task_label& label) {
  const kind_source found = kind_source::of(s, label, peek_at);
  if (found.name != nullptr) return kind_text(text_at(found.name, longest_symbol).c_str());
  return found.frame != nullptr ? name_of_frame(found.frame) : std::string();
}

} // namespace

void worker_report::note_thread() noexcept {
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  thread_.store(::gettid(), std::memory_order_relaxed);
  thread_clock_.store(clock, std::memory_order_relaxed);
  execution_.store(&this_execution, std::memory_order_relaxed);
}

/// Never reads from a task, which may end meanwhile: it copies words by the system, and what it finds may be
/// of the next task.
seen_task worker_report::task() const {
  seen_task seen;
  const act_function act = act_.load(std::memory_order_relaxed);
  const execution* const there = execution_.load(std::memory_order_relaxed);
  if (act == nullptr) return seen;
  const char* const kind = kind_of(act);
  seen.kind = kind_text(kind);
  const coroutine_root* root = nullptr;
  value_chain within;
  if (!peek(&there->root, root) || !peek(&there->within, within)) return seen;
  task_label label;
  const bound_value* const at = chain_walk::find(&label_key, root, within, /*most=*/1000, peek_at);
  const bool labelled = at != nullptr && peek(static_cast<const task_label*>(at), label);
  if (labelled && label.name != nullptr) seen.name = text_at(label.name, task_label::longest_name);
  seen.id = label.id;
  if (kind != coroutine_kind) return seen;
  if (root == nullptr) { // the label's own coroutine runs a closure
    if (labelled && label.kind != nullptr) seen.kind = kind_text(text_at(label.kind, longest_symbol).c_str());
    return seen;
  }
  if (std::string found = kind_at(static_cast<const strand&>(*root), label); !found.empty())
    seen.kind = std::move(found);
  return seen;
}

std::chrono::nanoseconds worker_report::task_age() const noexcept {
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() -
                                  clock_ns_.load(std::memory_order_relaxed)};
}

std::optional<std::chrono::nanoseconds> worker_report::busy_for() const noexcept {
  const std::int64_t word = busy_.load(std::memory_order_relaxed);
  if ((word & 1) == 0) return std::nullopt;
  // Or when that work ended, if it has ended just now.
  const std::int64_t since = busy_before_ns_.load(std::memory_order_relaxed) - (word >> 1);
  return std::chrono::nanoseconds{monotonic::now().time_since_epoch().count() - since};
}

std::chrono::nanoseconds worker_report::busy() const noexcept {
  const std::int64_t word = busy_.load(std::memory_order_relaxed);
  const std::int64_t now = (word & 1) != 0 ? monotonic::now().time_since_epoch().count() : 0;
  return std::chrono::nanoseconds{(word >> 1) + now};
}

std::uint64_t worker_report::never_less(atomic<std::uint64_t>& given, std::uint64_t value) noexcept {
  std::uint64_t last = given.load(std::memory_order_relaxed);
  while (last < value && !given.compare_exchange_weak(last, value, std::memory_order_relaxed)) {
  }
  return std::max(last, value);
}

std::chrono::nanoseconds worker_report::busy_never_less(std::chrono::nanoseconds busy) const noexcept {
  const std::uint64_t ns = never_less(given_busy_ns_, static_cast<std::uint64_t>(busy.count()));
  return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}

std::uint64_t worker_report::placed_never_less(std::uint64_t placed) const noexcept {
  return never_less(given_placed_, placed);
}

worker_metrics metrics_of(worker& seat) noexcept {
  const worker_queues& own = seat.queues();
  const worker_counters& counts = seat.counts();
  const worker_report& report = seat.report();
  worker_metrics m;
  m.worker = seat.id();
  m.group = seat.place().group;
  const std::uint64_t placed =
      counts.pushed.read() + own.in.put(); // read first: it may lack what has overflowed
  m.overflowed = counts.overflowed.read();
  const bool injects = seat.engine().settings().injection.scope != injection_scope::none;
  m.placed = injects ? placed : report.placed_never_less(placed - std::min(placed, m.overflowed));
  m.forked = counts.forked.read();
  m.in_place = counts.in_place.read();
  m.leapfrogged = counts.leapfrogged.read();
  m.executed = counts.executed.read() + counts.executed_without_seat.load(std::memory_order_relaxed);
  m.expired = counts.expired.read();
  m.ticks = counts.ticks.read();
  m.lifo_runs = counts.lifo_runs.read();
  m.latency_runs = counts.of_class[0].read();
  m.background_runs = counts.of_class[1].read();
  m.active = seat.engine().active(seat.id()) ? 1 : 0;
  m.running = seat.entry().owner.running.load(std::memory_order_relaxed);
  m.load = own.waiting() + (own.lifo.empty() ? 0U : 1U) + m.running;
  for (std::size_t l = 0; l < level_count; ++l) {
    m.stolen[l] = counts.stolen[l].read();
    m.victims[l] = m.stolen[l] == 0 ? m.group : group_id{counts.victims[l].load(std::memory_order_relaxed)};
  }
  m.injected = counts.injected.read();
  m.spilled = counts.spilled.read();
  m.regained_seats = counts.regained.read();
  m.taken_seats = counts.taken.read();
  m.blocking_calls = counts.blocking.read();
  for (std::size_t c = 0; c < class_count; ++c) {
    m.waited[c] = counts.waited[c].read();
    m.ran[c] = counts.ran[c].read();
  }
  m.timers_late = counts.timers_late.read();
  // Read first: what ends meanwhile is missing, and not counted twice.
  m.busy = report.busy_never_less(report.busy());
  return m;
}

} // namespace corewise::detail
