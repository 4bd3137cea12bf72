#include "runtime.hpp"

#include "faults.hpp"
#include "fence.hpp"
#include "forked.hpp"
#include "node_resource.hpp"
#include "page_nodes.hpp"

#include <corewise/policies/origin.hpp>
#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace corewise {

using detail::this_execution;

namespace {

/// A task on its way in: destroyed unless somebody takes it over.
class arriving_task {
 public:
  explicit arriving_task(task_header* t) noexcept : task_(t) {}
  arriving_task(const arriving_task&) = delete;
  arriving_task& operator=(const arriving_task&) = delete;
  ~arriving_task() {
    if (task_ != nullptr) task_->act(task_, task_action::discard);
  }
  task_header* release() noexcept { return std::exchange(task_, nullptr); }

 private:
  task_header* task_;
};

/// Whether it wishes nothing; mostly it is the default.
bool plain(const hint& wish) noexcept { return &wish == &no_hint || wish.plain(); }

profile checked(profile settings) {
  if (std::vector<profile_issue> issues = check_profile(settings); !issues.empty())
    throw profile_error(std::move(issues));
  return settings;
}

} // namespace

runtime::runtime(profile settings, engine_hooks hooks)
    : settings_(checked(std::move(settings))),
      hooks_(std::move(hooks)),
      machine_(discover(settings_.topology.machine)),
      groups_(machine_, settings_.topology.groups),
      start_cpu_(machine_.is_this_system() ? this_cpu() : std::nullopt),
      layout_(machine_, groups_, worker_options_of(settings_, start_cpu_)),
      rules_(std::make_unique<detail::rules>(settings_, groups_, layout_)),
      resumptions_return_(rules_.newest()->placing->returns()),
      waits_when_full_(settings_.limits.on_full == full_action::wait),
      near_nodes_(machine_, groups_, layout_),
      born_in_(detail::fork_generation()),
      limit_(settings_.limits.in_flight),
      supervisor_(*this),
      threads_(*this, layout_.size()) {
  for (const std::string& w : machine_.warnings()) warn(w);
  check_machine();
  install_stack_signal();
  make_groups();
  make_classes();
  make_seats();
}

runtime::~runtime() {
  for (detail::worker* seat : seats_) seat->note_left(); // there is no thread any more
  drop_suspended();
}

void runtime::check_machine() {
  if (!machine_.is_this_system()) {
    warn("the machine is described, not this one (" + machine_.source() +
         "): workers are not pinned and memory is not bound");
    return;
  }
  if (settings_.workers.pin == pin_to::none) return;
  cpu_set used;
  for (const worker_place& p : layout_.workers()) used |= groups_[p.group].cpus;
  claim_ = detail::cpu_claim(std::move(used));
  if (!claim_.overlap().empty())
    warn("another engine of this process uses CPUs " + claim_.overlap().to_string() + " too");
}

void runtime::install_stack_signal() {
  if (!settings_.debug.stack_signal) return;
  try {
    stack_signal_.emplace(*settings_.debug.stack_signal);
  } catch (const std::system_error& e) {
    warn(std::string("stuck workers are reported without their stacks: ") + e.what());
  }
}

bool runtime::wants_node_memory() const noexcept {
  return settings_.workers.memory == memory_on::node && machine_.is_this_system() &&
         machine_.nodes().size() > 1;
}

void runtime::make_groups() {
  const detail::group_state::sizes sizes{
      .ring = std::bit_ceil(settings_.queues.local),
      .inbox = settings_.queues.inbox ? std::bit_ceil(*settings_.queues.inbox) : 0};
  for (const locality_group& g : groups_.groups()) {
    const auto workers = layout_.of_group(g.id);
    std::optional<std::uint32_t> node;
    if (g.node && wants_node_memory()) node = machine_.nodes()[*g.node].os_index;
    refusal why;
    group_states_.push_back(std::make_unique<detail::group_state>(workers, sizes, node, &why));
    if (why) warn_once("queues are not bound to their node: " + *why);
    memory_.push_back(std::make_shared<detail::node_resource>(node));
    boards_.push_back(std::make_unique<group_board>(workers.size(), group_states_.back()->slots()));
    const bool shared = settings_.injection.scope == injection_scope::engine;
    injection_.push_back(&group_states_[shared ? 0 : g.id.value]->injection());
  }
  constexpr std::uint32_t unbounded = std::numeric_limits<std::int32_t>::max();
  view_.emplace(boards_, layout_, sizes.ring, sizes.inbox != 0 ? sizes.inbox : unbounded);
  if (groups_.size() == 1) return;
  group_level_bytes_.resize(load_levels::bytes_for(groups_.size()));
  view_->group_levels = &group_levels_.emplace(group_level_bytes_.data(), groups_.size());
}

void runtime::make_classes() {
  using detail::domain_classes;
  for (const std::vector<group_id>& domain : groups_.domains()) {
    const locality_group& first = groups_[domain.front()];
    std::optional<std::uint32_t> node;
    if (first.node && wants_node_memory()) node = machine_.nodes()[*first.node].os_index;
    refusal why;
    detail::node_arena& arena = *class_memory_.emplace_back(std::make_unique<detail::node_arena>(
        domain_classes::cells_needed * sizeof(detail::inbox::cell), node, &why));
    if (why) warn_once("queues are not bound to their node: " + *why);
    auto* cells = arena.take<detail::inbox::cell>(domain_classes::cells_needed);
    std::uninitialized_value_construct_n(cells, domain_classes::cells_needed);
    classes_.push_back(std::make_unique<domain_classes>(std::span{cells, domain_classes::cells_needed}));
  }
}

void runtime::make_seats() {
  for (const locality_group& g : groups_.groups()) {
    group_states_[g.id.value]->make_seats(*this, layout_.of_group(g.id));
    for (detail::worker& seat : group_states_[g.id.value]->seats()) {
      seats_.push_back(&seat);
      queues_.push_back(&seat.queues());
    }
  }
  for (const auto& g : group_states_) timer_groups_.push_back(&g->timers());
  timers_.emplace(timer_groups_);
  idle_ = std::make_unique<detail::idle_workers>(groups_, layout_, boards_, queues_, injection_, classes_,
                                                 *timers_, rules_);
  supervisor_.prepare(layout_.size());
  suspended_.make_room(layout_.size());
}

void runtime::start() {
  threads_.start(shared_from_this());
  if (settings_.strict && !warnings().empty()) {
    std::string all = "the profile is strict, and the machine does not give what it asks for:";
    for (const std::string& w : warnings()) all += "\n  " + w;
    throw topology_error(all);
  }
}

// --- the way in

/// Tasks may submit until the engine has ended: a shutdown waits for them. Others may not once it has begun.
inline bool runtime::open_to(bool inside) const noexcept {
  const stage now = stage_.load(std::memory_order_acquire); // pairs: stage
  return now == stage::open || (inside && now == stage::closing);
}

inline submit_result runtime::enter(bool inside, bool may_wait) {
  if (open_to(inside) && limit_.enter()) [[likely]]
    return submit_result::accepted;
  return wait_or_refuse(inside, may_wait);
}

submit_result runtime::accept(task_header* arriving, const hint& wish, bool may_wait) {
  arriving_task held(arriving);
  if (forked()) return submit_result::stopping;
  const detail::execution& here = this_execution;
  const bool inside = here.engine == this;
  if (detail::worker* seat = inside ? here.seat : nullptr) {
    if (const submit_result in = enter(inside, may_wait); in != submit_result::accepted) return in;
    task_header* t = held.release();
    t->phase = here.phase;
    seat->books().submitted[here.phase].add();
    place_from_seat(*seat, t, wish);
    return submit_result::accepted;
  }
  if (wish.address != nullptr) return accept(held.release(), with_node(wish), may_wait);
  detail::submitter& me = submitters_.mine();
  std::uint8_t phase = here.phase;
  if (const submit_result in = enter_without_seat(me, inside, may_wait, phase); in != submit_result::accepted)
    return in;
  task_header* t = held.release();
  t->phase = phase;
  detail::interleave();
  place_entered(me, t, wish);
  return submit_result::accepted;
}

/// Counts a task that comes in: in the phase of the task that submits it, or else in the one that is open, which it answers.
submit_result runtime::enter_without_seat(detail::submitter& me, bool inside, bool may_wait,
                                          std::uint8_t& phase) {
  if (const submit_result in = enter(inside, may_wait); in != submit_result::accepted) return in;
  if (!inside) phase = drains_.open_phase();
  me.books.submitted[phase].add();
  me.by.announce(rules_);
  if (!closed_meanwhile() || inside) return submit_result::accepted;
  me.by.let_go();
  me.books.finished[phase].add();
  limit_.release();
  drains_.progress();
  return submit_result::stopping;
}

void runtime::place_entered(detail::submitter& me, task_header* t, const hint& wish) noexcept {
  const detail::rules* announced = me.by.get(); // whoever has looked meanwhile has left it to this thread
  place_from_outside(me, me.by.confirm(rules_), t, wish);
  me.by.let_go();
  if (announced != rules_.newest()) forget_old_rules();
}

/// It ends as a task of the engine whose thread this is, which books it out when it comes back to `execute`; by then it has
/// come in here. Afterwards it may run already.
bool runtime::take_over(detail::resumption& place) {
  if (forked()) return false;
  detail::submitter& me = submitters_.mine();
  detail::coroutine_root& root = *place.root;
  std::uint8_t phase = 0;
  if (enter_without_seat(me, false, false, phase) != submit_result::accepted) return false;
  root.engine = this;
  root.phase = place.phase = phase;
  root.last = seats_.front(); // until it is suspended here
  this_execution.root_ended = true;
  place_entered(me, &place, {.run_as = root.run_as});
  return true;
}

submit_result runtime::wait_or_refuse(bool inside, bool may_wait) {
  if (!open_to(inside)) return submit_result::stopping;
  if (may_wait && !inside && waits_when_full_.load(std::memory_order_relaxed))
    return limit_.wait_and_enter([&] { return open_to(false); }) ? submit_result::accepted
                                                                 : submit_result::stopping;
  rejected_.fetch_add(1, std::memory_order_relaxed);
  return submit_result::full;
}

void runtime::place_from_seat(detail::worker& seat, task_header* t, const hint& wish) noexcept {
  if (plain(wish) && seat.keeps_its_own()) return seat.push_next(t);
  place_by_policy(seat, t, wish);
}

void runtime::place_by_policy(detail::worker& seat, task_header* t, const hint& wish) noexcept {
  if (wish.address != nullptr) return place_from_seat(seat, t, with_node(wish));
  load_view view = *view_;
  view.task_time_ns = seat.task_time_ns();
  const placement to = seat.by().placing->place(view, {.group = seat.place().group, .worker = seat.id()},
                                                wish, seat.rng(), seat.cursor());
  if (to.level > level::same_domain) seat.count_spill();
  if (wish.run_as != task_class::normal) return put_in_class(t, to.group, t->run_as = wish.run_as);
  if (!to.injected && to.worker == seat.id()) {
    seat.push_next(t);
    return;
  }
  send(t, to);
}

inline task_origin runtime::outside_origin(std::optional<std::uint32_t> cpu,
                                           placement_rng& rng) const noexcept {
  if (cpu)
    if (const std::optional<task_origin> here = origin_from_cpu(groups_, *cpu)) return *here;
  return origin_at_random(layout_, rng);
}

void runtime::place_from_outside(detail::submitter& from, const detail::rules& by, task_header* t,
                                 const hint& wish) noexcept {
  const std::optional<std::uint32_t> cpu = machine_.is_this_system() ? this_cpu() : std::nullopt;
  if (plain(wish) && from.last.repeat != 0 && cpu == from.last_cpu && available(from.last.worker)) {
    --from.last.repeat;
    return put(t, from.last, &from.overflow);
  }
  const task_origin origin = outside_origin(cpu, from.rng);
  load_view view = *view_;
  view.task_time_ns = group_states_[origin.group.value]->task_time_ns();
  placement to = by.placing->place(view, origin, wish, from.rng, from.cursor);
  if (wish.run_as != task_class::normal) return put_in_class(t, to.group, t->run_as = wish.run_as);
  if (to.repeat != 0 && cpu) to.worker = rather_at(*cpu, to);
  from.last = to;
  from.last_cpu = cpu;
  send(t, to, &from.overflow);
}

/// Where short tasks wait in rows, one place is as good as another that has not twice as many: then two threads that submit at
/// once had better not go to the same. Answers the worker of the caller's core, or the one that was chosen (ADR 0036). By levels,
/// which may be old: then that worker gets what its inbox has room for, of which thieves take half at a time.
worker_id runtime::rather_at(std::uint32_t cpu, const placement& chosen) const noexcept {
  const load_levels& levels = boards_[chosen.group.value]->levels;
  const std::uint8_t least = levels.at(index_in_group(chosen.worker));
  if (is_exact(least)) return chosen.worker;
  const std::optional<worker_id> here = layout_.at_cpu(cpu);
  if (!here || layout_[*here].group != chosen.group || !available(*here)) return chosen.worker;
  return levels.at(index_in_group(*here)) < least + levels_in_a_doubling ? *here : chosen.worker;
}

/// The hint with the address's node in it, in place of the address.
hint runtime::with_node(const hint& wish) noexcept {
  hint found = wish;
  found.address = nullptr;
  if (found.node) return found;
  if (!machine_.is_this_system()) {
    if (!near_warned_.exchange(true, std::memory_order_relaxed))
      warn("a hint near an address has no effect: the machine is described, not this one");
    return found;
  }
  if (near_nodes_.one()) return found;
  static thread_local detail::page_nodes pages;
  if (const auto os_index = pages.node_of(wish.address, detail::monotonic::now()))
    found.node = near_nodes_.standing_for(*os_index);
  return found;
}

/// The domain's workers take it from there.
void runtime::put_in_class(task_header* t, group_id g, task_class c) noexcept {
  classes(g).of(c).push(t);
  idle_->pushed(groups_[g].domain, c);
}

void runtime::wake(detail::resumption& place) noexcept {
  detail::worker* seat = this_execution.engine == this ? this_execution.seat : nullptr;
  if (seat != nullptr && seat->takes_back(place)) return seat->push_next(&place);
  send_on(&place, *place.root);
}

void runtime::wake_behind(detail::resumption& place) noexcept {
  detail::worker* seat = this_execution.engine == this ? this_execution.seat : nullptr;
  if (seat != nullptr && seat->takes_back(place)) return seat->push(&place);
  send_on(&place, *place.root);
}

void runtime::give_way(detail::coroutine_root& t) noexcept {
  detail::worker* const seat = this_execution.seat;
  if (seat == nullptr || !seat->takes_back(t)) return send_on(&t, t);
  seat->queue_up(&t);
}

void runtime::send_on(task_header* t, const detail::coroutine_root& root) noexcept {
  if (root.run_as != task_class::normal) return send_to_class(t, root);
  send_back(t, *root.last);
}

void runtime::place_again(detail::resumption& place, const hint& wish) noexcept {
  place.root->run_as = wish.run_as;
  detail::worker* seat = this_execution.seat;
  if (seat == nullptr) return send_on(&place, *place.root);
  place_from_seat(*seat, &place, wish);
  if (ended()) drop_queued(); // as below
}

/// To the calling worker's domain, or from elsewhere to that of the worker that it ran on last.
void runtime::send_to_class(task_header* t, const detail::coroutine_root& root) noexcept {
  const detail::worker* seat = this_execution.engine == this ? this_execution.seat : nullptr;
  if (seat == nullptr) seat = root.last;
  const group_id g = seat->place().group;
  put_in_class(t, idle_->classes_are_left(groups_[g].domain) ? layout_[active_near(g)].group : g,
               root.run_as);
  if (ended()) drop_queued(); // as below
}

/// To the worker that it ran on last, or, where the policy says so, to the injection queue.
void runtime::send_back(task_header* t, const detail::worker& seat) noexcept {
  const worker_id last = seat.id();
  const worker_id to = active(last) ? last : active_near(layout_[last].group);
  const bool injected = !resumptions_return_.load(std::memory_order_relaxed);
  send(t, {.worker = to, .group = layout_[to].group, .injected = injected});
  if (ended()) drop_queued(); // nobody else comes for it; the fence of `pushed` and that of `stop` order this
}

void runtime::send(task_header* t, const placement& to, detail::segment_writer* overflow) noexcept {
  if (to.injected && injects()) {
    if (overflow != nullptr) overflow->end();
    injection_[to.group.value]->push(t);
    idle_->pushed(to.worker);
    return;
  }
  worker_bits& spinning = boards_[to.group.value]->spinning;
  const std::size_t index = index_in_group(to.worker);
  if (spinning.test(index)) spinning.claim(index); // so that the next submitter chooses another
  publish_one_more(layout_[to.worker]);
  put(t, to, overflow);
}

/// Into the worker's inbox, or its group's injection queue.
void runtime::put(task_header* t, const placement& to, detail::segment_writer* overflow) noexcept {
  if (!queues_[to.worker.value]->in.push(t)) {
    detail::injection_queue& injection = *injection_[to.group.value];
    if (overflow != nullptr)
      overflow->push(injection, t);
    else
      injection.push(t);
  }
  idle_->pushed(to.worker);
}

void runtime::publish_load(const worker_place& w) noexcept {
  publish(w, load_level(view_->load(w.group, index_in_group(w.id)).total()));
}

/// As `publish_load`, but without a look at its slot: that would take the line away from it.
void runtime::publish_one_more(const worker_place& w) noexcept {
  publish(w, next_level(boards_[w.group.value]->levels.at(index_in_group(w.id))));
}

/// A retired worker attracts nothing, and its group is not the lighter for it.
void runtime::publish(const worker_place& w, std::uint8_t level) noexcept {
  group_board& board = *boards_[w.group.value];
  const std::size_t place = index_in_group(w.id);
  const bool takes_part = place < board.active.load(std::memory_order_relaxed);
  publish_level(board, place, takes_part ? level : load_levels::nobody,
                group_levels_ ? &*group_levels_ : nullptr, w.group);
}

// --- the way out

void runtime::failed() noexcept {
  failed_.fetch_add(1, std::memory_order_relaxed);
  const auto on_exception = [](const detail::rules& r) { return r.settings.on_exception; };
  if (rules_.read(on_exception) == exception_action::terminate) std::terminate();
  if (hooks_.on_exception) hooks_.on_exception(std::current_exception());
  if (!hooks_.log) return;
  try {
    throw;
  } catch (const std::exception& e) {
    hooks_.log(std::string("a task ended by an exception: ") + e.what());
  } catch (...) {
    hooks_.log("a task ended by an exception");
  }
}

void runtime::finished_without_seat(std::uint8_t phase) noexcept {
  submitters_.mine().books.finished[phase].add();
  limit_.release();
  drains_.progress();
}

bool runtime::quiet(std::uint8_t phase) const {
  const counts now = sum(phase);
  return now.finished == now.submitted;
}

runtime::counts runtime::sum(std::uint8_t phase) const {
  counts c;
  const auto all = [&](auto f) {
    for (const detail::worker* seat : seats_) f(seat->books());
    submitters_.for_each([&](const detail::submitter& s) { f(s.books); });
  };
  all([&](const detail::ledger& l) { c.finished += l.finished[phase].read(); });
  all([&](const detail::ledger& l) { c.submitted += l.submitted[phase].read(); });
  return c;
}

void runtime::drain() {
  if (forked()) return;
  if (this_execution.engine == this)
    throw std::logic_error("engine::drain on a worker of the engine would deadlock");
  drains_.drain([this](std::uint8_t phase) { return quiet(phase); });
}

shutdown_report runtime::shutdown(std::chrono::nanoseconds deadline) {
  if (forked()) return {};
  if (this_execution.engine == this)
    throw std::logic_error("engine::shutdown on a worker of the engine would deadlock");
  return end(deadline);
}

/// Who was let in before the engine closed puts its task down, though the deadline is over: it has written down what rules it
/// goes by until it has (H1 to H3 of swapped.hpp; its fence is that of `closed_meanwhile`). That is a few steps, in which it waits
/// for nobody.
void runtime::wait_for_arriving() const {
  submitters_.for_each([](const detail::submitter& s) {
    while (!s.by.holds(nullptr)) std::this_thread::sleep_for(std::chrono::microseconds{20});
  });
}

shutdown_report runtime::end(std::chrono::nanoseconds deadline) {
  const std::scoped_lock lock(shutdown_mutex_);
  if (report_) return *report_;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 365};
  const auto until = detail::monotonic::now() + std::clamp(deadline, std::chrono::nanoseconds{0}, longest);
  stage_.store(stage::closing, std::memory_order_seq_cst); // pairs: stage
  detail::full_fence();                                    // with closed_meanwhile
  limit_.wake_all();
  drains_.wait([this] { return quiet(0) && quiet(1); }, until);
  wait_for_arriving();

  stage_.store(stage::ended, std::memory_order_seq_cst); // pairs: stage
  idle_->stop();
  supervisor_.stop();
  threads_.stop();
  // Threads that are in no task leave at once; the others have had their time.
  constexpr std::chrono::milliseconds to_leave{200};
  shutdown_report report;
  report.running = threads_.join(std::max(until, detail::monotonic::now() + to_leave));
  drop_queued();
  report.suspended = suspended_.count();
  if (!threads_.left_to_themselves()) drop_suspended(); // else the last of them does
  report.dropped = dropped_.load(std::memory_order_relaxed);
  return *(report_ = std::move(report));
}

// --- for people

void runtime::warn(std::string text) {
  if (hooks_.log) hooks_.log(text);
  const std::scoped_lock lock(warnings_mutex_);
  warnings_.push_back(std::move(text));
}

void runtime::warn_once(const std::string& text) {
  {
    const std::scoped_lock lock(warnings_mutex_);
    if (std::find(warnings_.begin(), warnings_.end(), text) != warnings_.end()) return;
  }
  warn(text);
}

void runtime::report_stuck(std::string text) {
  constexpr std::size_t kept = 32; // a daemon may run for years
  {
    const std::scoped_lock lock(warnings_mutex_);
    if (stuck_reports_ < kept) warnings_.push_back(text);
    ++stuck_reports_;
  }
  if (hooks_.log) hooks_.log(text);
}

std::vector<std::string> runtime::warnings() const {
  const std::scoped_lock lock(warnings_mutex_);
  return warnings_;
}

/// In a forked child another thread may have held the queue's locks for good.
std::uint32_t runtime::injected_in(detail::group_state& g) const noexcept {
  return forked() ? g.injection().size() : g.injection().count();
}

metrics_snapshot runtime::metrics() const {
  metrics_snapshot m;
  for (const detail::worker* seat : seats_) {
    worker_metrics w = seat->metrics();
    const auto& idle = idle_->counts(seat->id());
    w.parks = idle.parks.load(std::memory_order_relaxed);
    w.wakes = idle.wakes.load(std::memory_order_relaxed);
    w.timeouts = idle.timeouts.load(std::memory_order_relaxed);
    w.lifo_rescued = idle.lifo_rescued.load(std::memory_order_relaxed);
    w.rescued_by_timeout = idle.rescued.load(std::memory_order_relaxed);
    w.stuck = supervisor_.stuck(seat->id());
    m.workers.push_back(w);
  }
  for (std::uint8_t phase = 0; phase < detail::phases; ++phase) {
    const counts c = sum(phase);
    m.finished += c.finished;
    m.submitted += c.submitted;
  }
  for (const auto& g : group_states_) m.injected += injected_in(*g);
  for (const auto& domain : classes_) {
    const detail::class_queue& latency = domain->of(task_class::latency);
    const detail::class_queue& background = domain->of(task_class::background);
    m.latency_queued += latency.depth();
    m.background_queued += background.depth();
    m.latency_placed += latency.placed();
    m.background_placed += background.placed();
  }
  for (const detail::timer_group* timers : timer_groups_) {
    const detail::timer_group::counts c = timers->count();
    m.timers_pending += c.pending;
    m.timers_fired += c.fired;
    m.timers_cancelled += c.cancelled;
  }
  m.reloads = reloads_.load(std::memory_order_relaxed);
  m.outdated = outdated_rules();
  m.rejected = rejected_.load(std::memory_order_relaxed);
  m.failed = failed_.load(std::memory_order_relaxed);
  m.spare_threads = forked() ? 0 : threads_.spares();
  return m;
}

} // namespace corewise
