#include "runtime/runtime.hpp"

#include "base/fence.hpp"
#include "base/process_fork.hpp"
#include "memory/node_resource.hpp"

#include <corewise/topology/error.hpp>

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

// --- the end of tasks, and of the engine

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
