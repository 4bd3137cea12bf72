#include "worker/shared.hpp"

#include "memory/near_nodes.hpp"

#include <corewise/topology/binding.hpp>

#include <exception>
#include <limits>

// The parts of an engine, and the ends of its tasks.

namespace corewise::detail {

namespace {

profile checked(profile settings) {
  if (std::vector<profile_issue> issues = check_profile(settings); !issues.empty())
    throw profile_error(std::move(issues));
  return settings;
}

worker_options with_headroom(const profile& p, std::optional<std::uint32_t> start_cpu) noexcept {
  worker_options options = worker_options_of(p, start_cpu);
  options.headroom = p.workers.headroom;
  return options;
}

} // namespace

shared::shared(profile settings, engine_hooks hooks)
    : settings_(checked(std::move(settings))),
      hooks_(std::move(hooks)),
      machine_(discover(settings_.topology.machine)),
      groups_(machine_, settings_.topology.groups),
      start_cpu_(machine_.is_this_system() ? this_cpu() : std::nullopt),
      layout_(machine_, groups_, with_headroom(settings_, start_cpu_)),
      rules_(std::make_unique<rules>(settings_, groups_, layout_)),
      resumptions_return_(rules_.newest()->placing->returns()),
      limit_(settings_.limits.in_flight),
      blocking_calls_(settings_),
      notices_(hooks_, settings_.name) {
  for (const std::string& w : machine_.warnings()) notices_.warn(log_code::machine, w);
  make_groups();
  make_classes();
  make_seats();
}

bool wants_node_memory(const shared& engine) noexcept {
  return engine.settings().workers.memory == memory_on::node && engine.machine().is_this_system() &&
         engine.machine().nodes().size() > 1;
}

void prefer_memory_of(shared& engine, group_id g) noexcept {
  constinit static thread_local std::optional<std::uint32_t> preferred; // a thread belongs to one engine
  if (!wants_node_memory(engine)) return;
  const std::optional<std::uint32_t> node = engine.memory(g)->node();
  if (!node || node == preferred) return;
  preferred = node;
  if (const refusal why = prefer_node(*node))
    engine.notices().try_warn_once(log_code::not_on_node, "workers' memory is not bound to their node", *why);
}

void shared::make_groups() {
  const auto nodes = memory_nodes(machine_, groups_, nodes_with_memory(machine_));
  const group_state::sizes sizes{.ring = std::bit_ceil(settings_.queues.local),
                                 .inbox =
                                     settings_.queues.inbox ? std::bit_ceil(*settings_.queues.inbox) : 0};
  for (const locality_group& g : groups_.groups()) {
    const auto workers = layout_.of_group(g.id);
    std::optional<std::uint32_t> node;
    if (wants_node_memory(*this)) node = nodes[g.id.value];
    refusal why;
    group_states_.push_back(std::make_unique<group_state>(workers, sizes, node, &why));
    if (why) notices_.warn_once(log_code::not_on_node, "queues are not bound to their node: " + *why);
    memory_.push_back(std::make_shared<node_resource>(node));
    boards_.push_back(std::make_unique<group_board>(workers.size(), group_states_.back()->entries()));
    boards_.back()->active.store(layout_.at_begin(g.id), std::memory_order_relaxed); // no thread yet
    const bool one_queue = settings_.injection.scope == injection_scope::engine;
    injection_.push_back(&group_states_[one_queue ? 0 : g.id.value]->injection());
  }
  constexpr std::uint32_t unbounded = std::numeric_limits<std::int32_t>::max();
  view_.emplace(boards_, layout_, sizes.ring, sizes.inbox != 0 ? sizes.inbox : unbounded);
  if (groups_.size() == 1) return;
  group_level_bytes_.resize(load_levels::bytes_for(groups_.size()));
  view_->group_levels = &group_levels_.emplace(group_level_bytes_.data(), groups_.size());
}

void shared::make_classes() {
  for (const std::vector<group_id>& domain : groups_.domains()) {
    const std::optional<std::uint32_t> node = memory_[domain.front().value]->node();
    refusal why;
    node_arena& arena = *class_memory_.emplace_back(
        std::make_unique<node_arena>(domain_classes::cells_needed * sizeof(inbox::cell), node, &why));
    if (why) notices_.warn_once(log_code::not_on_node, "queues are not bound to their node: " + *why);
    auto* cells = arena.take<inbox::cell>(domain_classes::cells_needed);
    std::uninitialized_value_construct_n(cells, domain_classes::cells_needed);
    classes_.push_back(std::make_unique<domain_classes>(std::span{cells, domain_classes::cells_needed}));
  }
}

void shared::make_seats() {
  for (const locality_group& g : groups_.groups()) {
    group_states_[g.id.value]->make_seats(*this, layout_.of_group(g.id));
    for (worker& seat : group_states_[g.id.value]->seats()) {
      seats_.push_back(&seat);
      queues_.push_back(&seat.queues());
    }
  }
  std::vector<timer_group*> timers;
  for (const auto& g : group_states_) timers.push_back(&g->timers());
  timers_.emplace(*this, std::move(timers));
  idle_ = std::make_unique<idle_workers>(groups_, layout_, boards_, queues_, injection_, classes_,
                                         timers_->watch(), rules_);
  suspended_.make_room(layout_.size());
}

// --- the end of tasks

void shared::failed() noexcept {
  end_child(1);
  failed_.fetch_add(1, std::memory_order_relaxed);
  const auto on_exception = [](const rules& r) { return r.settings.on_exception; };
  if (rules_.read(on_exception) == exception_action::terminate) std::terminate();
  if (hooks_.on_exception) hooks_.on_exception(std::current_exception());
  end_child(1); // the hook may have forked
  notices_.log_failure();
}

void shared::release_counted(std::uint8_t phase) noexcept {
  if (phase != daemon_phase) limit_.release();
}

void shared::finished_without_seat(std::uint8_t phase) noexcept {
  release_one(phase);
  submitters_.count_finished(phase);
  drains_.progress();
}

shared::counts shared::sum(std::uint8_t phase) const {
  counts c;
  const auto all = [&](auto f) {
    for (worker* seat : seats_) f(seat->books());
    submitters_.for_each([&](const submitter& s) { f(s.books); });
  };
  all([&](const ledger& l) { c.finished += l.finished[phase].read(); });
  all([&](const ledger& l) { c.submitted += l.submitted[phase].read(); });
  return c;
}

void shared::forget_old_rules() const noexcept {
  rules_.reclaim_once([this](const auto& f) { for_each_holder(f); });
}

} // namespace corewise::detail
