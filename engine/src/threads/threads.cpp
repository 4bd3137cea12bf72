#include "threads/threads.hpp"

#include "base/clock.hpp"
#include "threads/thread_name.hpp"
#include "worker/shared.hpp"

#include <corewise/engine/detail/blocking_limit.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <system_error>

namespace corewise::detail {

constinit thread_local execution layout_3::this_execution{};

namespace {

/// Returns the CPUs to tie a worker's thread to: of those that the profile asks for the allowed ones, or else those of its
/// group, or of the machine. Nothing: do not tie it.
std::optional<cpu_set> pin_target(const shared& engine, const worker_place& place, const cpu_set& allowed) {
  const topology& machine = engine.machine();
  const locality_group& g = engine.groups()[place.group];
  const pin_to pin = engine.settings().workers.pin;
  if (pin == pin_to::none) return std::nullopt;
  cpu_set wanted = g.cpus;
  if (pin == pin_to::core) wanted = machine.cores()[place.core].cpus;
  if (pin == pin_to::node) wanted = g.node ? machine.nodes()[*g.node].home_cpus : machine.cpus();
  for (const cpu_set* cpus : {&std::as_const(wanted), &g.cpus, &machine.cpus()})
    if (cpus->intersects(allowed)) return *cpus & allowed;
  return std::nullopt;
}

/// How much longer than its limit `join` waits for threads that are in no task: they need only a CPU.
constexpr std::chrono::seconds for_a_cpu{5};

} // namespace

worker_threads::worker_threads(shared& engine, runtime& whole)
    : engine_(engine),
      whole_(whole),
      seats_(engine.layout().size()),
      signals_(engine.settings().debug.stack_signal,
               engine.machine().is_this_system() && engine.settings().workers.pin != pin_to::none),
      allowed_(engine.machine().cpus()) {}

worker_threads::~worker_threads() {
  for (const auto& t : threads_)
    if (t->handle.joinable()) t->handle.detach();
}

void worker_threads::start(std::shared_ptr<const void> keep) {
  {
    const std::scoped_lock lock(mutex_);
    keep_ = std::move(keep);
  }
  for (const worker_place& p : engine_.layout().workers())
    if (start_thread({.seat = &engine_.seat(p.id), .lending = {}}, seats_) != started::yes)
      throw std::system_error(EAGAIN, std::generic_category(), "cannot start a worker thread");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return seated_ >= seats_; });
}

worker_threads::started worker_threads::start_thread(seat_offer first, std::size_t alive_max) noexcept {
  const std::scoped_lock lock(mutex_);
  if (stopping_ || alive_ >= alive_max) return started::enough;
  try {
    spares_.reserve(threads_.size() + 1); // a thread that becomes spare needs no memory
    threads_.push_back(std::make_shared<thread_record>());
  } catch (const std::bad_alloc&) {
    return started::refused;
  }
  thread_record& record = *threads_.back();
  record.offered = first;
  try {
    const engine_signals::blocked blocked(signals_);
    record.handle = thread([this, &record, keep = keep_] { main(record); });
  } catch (const std::exception&) {
    threads_.pop_back();
    return started::refused;
  }
  ++alive_;
  return started::yes;
}

bool worker_threads::offer(worker& seat, std::uint64_t lending) noexcept {
  std::shared_ptr<thread_record> spare; // `take_ended` may forget it before the wake-up below
  record_list ended;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return false;
    spare = take_spare({&seat, lending});
    if (!spare) ended = take_ended();
  }
  if (spare) {
    spare->bed.unpark(); // without the lock: the spare needs it next
    return true;
  }
  const started answer = start_thread({&seat, lending}, most_threads());
  for (const auto& t : ended) t->handle.join(); // it may take a while
  if (answer == started::refused)
    engine_.notices().try_warn_once(log_code::out_of_spare_threads,
                                    "a worker that blocks got no spare thread",
                                    "the system gave none, or no memory");
  return answer == started::yes;
}

std::size_t worker_threads::most_threads() const noexcept {
  return seats_ + engine_.newest_rules().read([](const rules& r) { return r.settings.blocking.spares_max; });
}

/// Takes the spare thread that is nearest to the seat; of equally near ones, the one that became spare last.
/// Call with the lock held, as with the two below.
std::shared_ptr<worker_threads::thread_record> worker_threads::take_spare(seat_offer offered) noexcept {
  if (spares_.empty()) return nullptr;
  const worker_place& place = offered.seat->place();
  const auto nearness = [&](const thread_record* t) {
    if (t->bound_to == nullptr || t->bound_to->group != place.group) return 0;
    return t->bound_to->core == place.core ? 2 : 1;
  };
  const auto at = std::ranges::max_element(spares_.rbegin(), spares_.rend(), {}, nearness);
  thread_record& spare = **at;
  spares_.erase(std::next(at).base());
  spare.offered = offered;
  send_to_core(spare, place);
  return spare.shared_from_this();
}

/// Ties a spare thread to the core of the seat, which the lender is about to leave, so that it wakes up
/// there. `bind` later lets the thread go to all its CPUs. Without this, the kernel often wakes the thread on
/// a CPU where another worker runs a task, and the thread waits there for a time slice.
void worker_threads::send_to_core(thread_record& spare, const worker_place& place) noexcept {
  const pin_to pin = engine_.settings().workers.pin;
  const bool there = pin == pin_to::core && spare.bound_to != nullptr && spare.bound_to->core == place.core;
  if (there || pin == pin_to::none || !engine_.machine().is_this_system()) return;
  const cpu_set& cpus = engine_.machine().cores()[place.core].cpus;
  if (!cpus.is_subset_of(allowed_)) return;
  // If this is refused, the thread stays tied as it is.
  spare.on_core = !pin_thread(spare.handle.native_handle(), cpus);
}

/// Notes that the thread on the seat has lost it. That thread is still in its task, or has just ended it.
void worker_threads::note_seatless(const worker& seat) noexcept {
  for (const auto& t : threads_) {
    if (t->seat != &seat || t->seatless) continue;
    t->seatless = true;
    t->since = monotonic::now() - seat.report().busy_for().value_or(std::chrono::nanoseconds{0});
  }
}

void worker_threads::main(thread_record& me) {
  signals_.note_thread();
  this_execution.engine = &whole_;
  seat_offer offered;
  {
    const std::scoped_lock lock(mutex_); // the record is complete
    offered = std::exchange(me.offered, {});
  }
  for (; offered.seat != nullptr; offered = wait_for_seat(me)) {
    worker* const seat = offered.seat;
    if (!sit(me, offered)) continue;
    const bool kept = seat->run();
    if (kept) { // the engine has ended
      this_execution = {};
      engine_.dropping().drop_rest_of(*seat);
    }
    if (engine_.hooks().on_worker_stop) {
      const unlimited_calls plain;
      engine_.hooks().on_worker_stop(seat->id());
    }
    engine_.end_child(); // as above
    if (kept) break;
  }
  engine_.suspended().give(this_execution);
  this_execution = {};
  if (note_end(me)) engine_.dropping().drop_suspended();
}

/// Notes that the calling thread ends. Returns whether it is the last one and no thread waits for it.
bool worker_threads::note_end(thread_record& me) noexcept {
  const std::scoped_lock lock(mutex_);
  me.ended = true;
  --alive_;
  changed_.notify_all();
  return alive_ == 0 && left_to_themselves_;
}

/// Takes the offered seat. Returns false if the lender has taken the seat back.
bool worker_threads::sit(thread_record& me, seat_offer offered) {
  worker& seat = *offered.seat;
  bind(me, seat);
  if (offered.lending && !seat.take(*offered.lending)) return false;
  seat.report().note_thread();
  {
    const std::scoped_lock lock(mutex_);
    note_seatless(seat);
    me.seat = &seat;
    me.seatless = false;
  }
  if (engine_.hooks().on_worker_start) {
    const unlimited_calls plain;
    engine_.hooks().on_worker_start(seat.id());
  }
  engine_.end_child();         // the hook may have forked
  this_execution.seat = &seat; // a hook that blocks cannot lend it
  const std::scoped_lock lock(mutex_);
  ++seated_;
  changed_.notify_all();
  return true;
}

void worker_threads::bind(thread_record& me, const worker& seat) {
  const worker_place& place = seat.place();
  name(me, place);
  prefer_memory_of(engine_, place.group);
  const bool at_home = me.bound_to != nullptr && me.bound_to->group == place.group;
  const bool tied =
      at_home && (engine_.settings().workers.pin != pin_to::core || me.bound_to->core == place.core);
  if (!me.on_core && tied) return;
  refusal why;
  {
    const std::scoped_lock lock(mutex_); // with `tie_to`: the later of the two knows the CPUs and the seat
    me.bound_to = &place;
    me.on_core = false;
    why = tie(me);
  }
  if (why) engine_.notices().try_warn_once(log_code::not_pinned, "workers are not pinned", *why);
}

/// Ties a thread to what is allowed of the CPUs of its seat. Call with the lock held.
refusal worker_threads::tie(thread_record& t) noexcept {
  const bool left_to_itself = !t.handle.joinable();
  if (left_to_itself || !engine_.machine().is_this_system()) return std::nullopt;
  try {
    const std::optional<cpu_set> cpus = pin_target(engine_, *t.bound_to, allowed_);
    return cpus && !cpus->empty() ? pin_thread(t.handle.native_handle(), *cpus) : std::nullopt;
  } catch (const std::bad_alloc&) {
    return "no memory";
  }
}

refusal worker_threads::tie_to(cpu_set allowed) noexcept {
  refusal why;
  const std::scoped_lock lock(mutex_);
  allowed_ = std::move(allowed);
  for (const auto& t : threads_)
    if (t->bound_to != nullptr && !t->ended && !t->on_core)
      if (refusal refused = tie(*t)) why = std::move(refused);
  return why;
}

/// Names the calling thread after its group, or after the seat that it takes.
void worker_threads::name(const thread_record& me, const worker_place& place) const {
  std::string suffix = "/g" + std::to_string(place.group.value);
  if (engine_.settings().debug.thread_names == thread_naming::worker)
    suffix += "w" + std::to_string(place.id.value);
  else if (me.bound_to != nullptr && me.bound_to->group == place.group)
    return; // it has that name
  name_thread(engine_.settings(), suffix);
}

worker_threads::seat_offer worker_threads::wait_for_seat(thread_record& me) {
  const auto keep_alive = [](const rules& r) { return r.settings.blocking.keep_alive; };
  const auto since = monotonic::now();
  for (bool spare = false;;) {
    const auto until = since + engine_.newest_rules().read(keep_alive);
    const std::size_t most = most_threads();
    std::unique_lock lock(mutex_);
    if (me.offered.seat != nullptr) return std::exchange(me.offered, {});
    me.seat = nullptr;
    me.seatless = false;
    const auto left = until - monotonic::now();
    if (stopping_ || left.count() <= 0 || staying() > most) {
      std::erase(spares_, &me);
      me.leaving = true;
      return {};
    }
    if (!std::exchange(spare, true)) {
      spares_.push_back(&me);
      continue; // newer rules wake it from now on: one more look at them
    }
    lock.unlock();
    me.bed.park(left);
  }
}

/// Returns how many threads live and are not about to end. Call with the lock held.
std::size_t worker_threads::staying() const noexcept {
  const auto leaves = [](const std::shared_ptr<thread_record>& t) { return t->leaving && !t->ended; };
  return alive_ - static_cast<std::size_t>(std::ranges::count_if(threads_, leaves));
}

void worker_threads::look_again() noexcept {
  const std::scoped_lock lock(mutex_);
  for (thread_record* t : spares_) t->bed.unpark();
}

/// Takes the threads that have left out of the list; without memory, none. Call with the lock held, and join them without
/// it: they may still be in destructors of the program's `thread_local`s, which may use the engine.
worker_threads::record_list worker_threads::take_ended() noexcept try {
  const auto has_ended = [](const std::shared_ptr<thread_record>& t) { return t->ended; };
  record_list ended;
  ended.reserve(static_cast<std::size_t>(std::ranges::count_if(threads_, has_ended)));
  std::ranges::copy_if(threads_, std::back_inserter(ended), has_ended);
  std::erase_if(threads_, has_ended);
  return ended;
} catch (const std::bad_alloc&) {
  return {};
}

void worker_threads::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  stopping_ = true;
  keep_.reset();
  for (thread_record* t : spares_) t->bed.unpark();
}

std::vector<shutdown_report::running_task> worker_threads::join(monotonic::time_point limit) noexcept {
  const auto in_task = [](const std::shared_ptr<thread_record>& t) {
    return !t->ended && t->seat != nullptr &&
           (t->seatless || t->seat->entry().runs() || t->seat->lender().lending());
  };
  std::unique_lock lock(mutex_);
  const auto all_left = [&] { return alive_ == 0; };
  if (!changed_.wait_until(lock, limit, all_left) && std::ranges::none_of(threads_, in_task))
    changed_.wait_until(lock, monotonic::now() + for_a_cpu, all_left);
  left_to_themselves_ = alive_ != 0;
  const record_list ended = take_ended();
  lock.unlock();
  for (const auto& t : ended) t->handle.join();
  lock.lock();
  std::vector<shutdown_report::running_task> running;
  for (const auto& t : threads_) {
    t->handle.detach();
    if (t->seat == nullptr) continue;
    const bool known = !t->seatless && in_task(t);
    const auto since = t->seatless ? monotonic::now() - t->since
                                   : t->seat->report().busy_for().value_or(std::chrono::nanoseconds{0});
    try {
      seen_task task = known ? t->seat->report().task() : seen_task{};
      running.push_back({t->seat->id(), since, std::move(task.kind), std::move(task.name), task.id});
    } catch (const std::bad_alloc&) {
      continue; // the report has as many as there is memory for
    }
  }
  return running;
}

bool worker_threads::left_to_themselves() const {
  const std::scoped_lock lock(mutex_);
  return left_to_themselves_;
}

std::size_t worker_threads::spares() const {
  const std::scoped_lock lock(mutex_);
  return spares_.size();
}

worker_threads::number worker_threads::count() const {
  const std::size_t most = most_threads();
  const std::scoped_lock lock(mutex_);
  return {alive_, static_cast<std::size_t>(std::ranges::count_if(threads_, &thread_record::seatless)), most};
}

} // namespace corewise::detail
