#include "simulation_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace corewise {

simulated_machine::simulated_machine(const profile& p)
    : simulated_machine(p, std::make_shared<const topology>(discover(p.topology.machine))) {}

simulated_machine::simulated_machine(const profile& p, std::shared_ptr<const topology> m)
    : machine(std::move(m)),
      groups(*machine, p.topology.groups),
      workers(*machine, groups, worker_options_of(p)),
      costs(p.topology.machine.costs) {}

double simulated_machine::capacity() const noexcept {
  double sum = 0;
  for (const worker_place& w : workers.workers())
    sum += static_cast<double>(real_capacity(w.group)) / full_capacity;
  return sum;
}

void simulated_machine::really_have(const std::string& kind, std::uint32_t capacity) {
  if (capacity < 1 || capacity > full_capacity)
    throw std::invalid_argument(fmt::format("cores have a capacity of 1 to {}", full_capacity));
  const auto& kinds = machine->kinds();
  const auto at = std::ranges::find(kinds, kind, &core_kind::name);
  if (at == kinds.end())
    throw std::invalid_argument(fmt::format("the machine has no kind of core \"{}\"", kind));
  if (real_.empty())
    for (const locality_group& g : groups.groups()) real_.push_back(g.capacity);
  for (const locality_group& g : groups.groups())
    if (g.kind == at->rank) real_[g.id.value] = capacity;
}

simulation_result simulate(const profile& p, const simulated_machine& machine, const workload& w,
                           const simulation_options& options) {
  simulation_options until_they_end = options;
  until_they_end.tasks = tasks_that_come(w, options.tasks);
  return detail::simulation(p, machine, w, until_they_end).run();
}

namespace detail {

namespace {

constexpr std::uint64_t events_between_looks = 4096; // at `stop` and for `progress`

} // namespace

simulation::simulation(const profile& p, const simulated_machine& machine, const workload& w,
                       const simulation_options& options)
    : idle_rules(machine.groups, machine.workers),
      profile_(p),
      machine_(machine),
      workload_(w),
      options_(options),
      costs_(machine.costs),
      rules_(rules_of(p.queues.discipline)),
      policies_(p, machine, options.rule, random_stream(options.seed, samples_stream)),
      stealing_(p.steal.policy != "none"),
      injects_(p.injection.scope != injection_scope::none),
      resumptions_return_(policies_.placing().returns()),
      ring_capacity_(std::bit_ceil(p.queues.local)),
      inbox_capacity_(p.queues.inbox ? std::bit_ceil(*p.queues.inbox)
                                     : std::numeric_limits<std::int32_t>::max()),
      minimum_at_(minimum_at_of(p)),
      boards_(machine.groups, machine.workers, ring_capacity_, inbox_capacity_),
      seats_(machine.workers.size()),
      groups_books_(machine.groups.size()),
      domains_(machine.groups.domains().size()),
      sleepers_(machine.groups.size()),
      services_(options.seed, services_stream),
      origins_(options.seed, origins_stream),
      homes_(options.seed, homes_stream),
      measured_(machine, options.tasks, options.warm_up),
      live_(machine.workers, bool(options.on_moment)) {
  for (const locality_group& g : groups_.groups())
    injection_of_.push_back(p.injection.scope == injection_scope::engine ? group_id{0} : g.id);
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    std::uint32_t workers = 0;
    for (const group_id g : groups_.domains()[d]) workers += active_in(g);
    domains_[d].searchers_max = searchers_of(workers, p.idle.searchers_per_mille);
  }
  for (const worker_place& place : layout_.workers()) {
    seat& s = at(place.id);
    s.rng = placement_rng(options.seed * 0x9E3779B97F4A7C15ULL + place.id.value + 1);
    s.interval = p.injection.interval.min;
    boards_.of(place.group).parked.set(boards_.place(place.id));
    ++asleep_;
    ++sleepers_[place.group.value];
  }
  note_places();
}

void simulation::note_places() {
  cpus_of_node_.resize(machine_.machine->nodes().size());
  package_of_node_.resize(cpus_of_node_.size());
  for (const std::uint32_t cpu : machine_.machine->cpus().to_vector()) {
    const auto g = groups_.group_of_cpu(cpu);
    if (!g) continue;
    if (place_of_cpu_.size() <= cpu) place_of_cpu_.resize(cpu + 1);
    place_of_cpu_[cpu] = static_cast<std::uint32_t>(cpus_.size());
    cpus_.push_back(cpu);
    outside_.push_back(
        {.rng = placement_rng(options_.seed * 0xD1B54A32D192ED03ULL + cpu + 1), .cursor = {}, .last = {}});
    if (const auto node = groups_[*g].node) {
      cpus_of_node_[*node].push_back(cpu);
      package_of_node_[*node] = groups_[*g].package;
    }
  }
  if (workload_.homes == workload::data::random) {
    // Only nodes that have CPUs are homes.
    if (std::ranges::all_of(cpus_of_node_, [](const auto& cpus) { return cpus.empty(); }))
      throw workload_error("data=random: the machine has no memory nodes with CPUs");
    for (std::uint32_t n = 0; n < cpus_of_node_.size(); ++n)
      if (!cpus_of_node_[n].empty()) homes_of_data_.push_back(n);
  }
  if (workload_.homes == workload::data::node && workload_.data_node >= cpus_of_node_.size())
    throw workload_error("data=node:" + std::to_string(workload_.data_node) + ": the machine has " +
                         std::to_string(cpus_of_node_.size()) + " memory nodes, numbered from 0");
  if (workload_.submitted == workload::from::cpu && !groups_.group_of_cpu(workload_.from_cpu))
    throw workload_error("from=cpu:" + std::to_string(workload_.from_cpu) +
                         ": the machine does not use that CPU");
}

simulation_result simulation::run() {
  begin();
  std::uint64_t events = 0;
  std::uint64_t next_sample = options_.samples == 0 ? ~std::uint64_t{0} : 0;
  std::uint64_t next_moment = !options_.on_moment || options_.moments == 0 ? ~std::uint64_t{0} : 0;
  while (!events_.empty() && measured_.ended_tasks() < options_.tasks) {
    const auto e = events_.pop();
    if (e.time_ns == latest_time_ns && waits_only(e.event)) continue;
    check_limits(e.time_ns);
    if (running_ != seats_.size() && waiting_ + injected_ + in_classes_ != 0)
      measured_.idled_beside_work(now_ns_, e.time_ns);
    now_ns_ = e.time_ns;
    handle(e.event);
    if (options_.look_through != 0 && events % options_.look_through == 0) look_through_books();
    if (measured_.ended_tasks() >= next_sample) {
      sample_loads();
      next_sample += std::max<std::uint64_t>(1, options_.tasks / options_.samples);
    }
    if (measured_.ended_tasks() >= next_moment) {
      tell_moment();
      next_moment += std::max<std::uint64_t>(1, options_.tasks / options_.moments);
    }
    if (++events % events_between_looks != 0) continue;
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed))
      throw simulation_stopped();
    if (options_.progress != nullptr)
      options_.progress->store(measured_.ended_tasks(), std::memory_order_relaxed);
  }
  if (options_.progress != nullptr)
    options_.progress->store(measured_.ended_tasks(), std::memory_order_relaxed);
  for (const worker_place& w : layout_.workers()) set_state(w.id, at(w.id).now); // its time until now
  return measured_.finish(now_ns_, costs_, events, still_in_system());
}

/// Returns whether the event is the end of a time for which a worker spins, or a task stays in a slot.
bool simulation::waits_only(const event& e) noexcept {
  return e.what == event::kind::spun || e.what == event::kind::slot_aged;
}

/// Throws `workload_error` if the run does not end within the limits. The limits keep a run from going on
/// for ever, and from taking all memory.
void simulation::check_limits(std::int64_t next_ns) const {
  const auto refuse = [&](const std::string& what) {
    throw workload_error(fmt::format("{}: after {} of {} tasks {}", describe(workload_),
                                     measured_.ended_tasks(), options_.tasks, what));
  };
  if (next_ns == latest_time_ns)
    refuse("the simulated time is over, which is 146 years at most; simulate fewer tasks, a higher rate or "
           "load, or shorter times");
  if (tasks_.alive() > options_.most_in_system)
    refuse(fmt::format("{} tasks wait or run, of {} at most: they come faster than the machine runs them; "
                       "simulate fewer tasks, or a lower rate or load",
                       tasks_.alive(), options_.most_in_system));
}

void simulation::handle(const event& e) {
  using kind = event::kind;
  acting_ = nowhere;
  const worker_id w{e.who};
  const auto still = [&] { return at(w).generation == e.generation; };
  switch (e.what) {
  case kind::arrival: return arrive();
  case kind::client_submits: return client_submits(e.who);
  case kind::root_comes: return submit_root();
  case kind::task_ends: return task_ends(w);
  case kind::woken: return turn(w);
  case kind::look:
    if (still()) look(w, steal_effort::usual, false);
    return;
  case kind::spun:
    if (still()) look(w, steal_effort::thorough, true);
    return;
  case kind::slot_aged: return slot_aged(w, e.generation);
  }
}

// --- books

void simulation::show(worker_id w) noexcept {
  const seat& s = at(w);
  boards_.show(w, s.ring.size(), s.inbox.size(), s.forks.size(), s.lifo != no_task, s.running != no_task);
}

void simulation::count_waiting(worker_id w, std::int32_t change) noexcept {
  const auto by = static_cast<std::uint32_t>(change); // wraps
  const group_id g = group_of(w);
  groups_books_[g.value].waiting += by;
  std::uint32_t& of_domain = domains_[groups_[g].domain].waiting;
  const bool before = of_domain != 0;
  of_domain += by;
  if (before != (of_domain != 0)) loaded_domains_ += before ? ~std::uint32_t{0} : 1U;
  waiting_ += by;
}

void simulation::count_slot(worker_id w, bool taken) noexcept {
  const std::uint32_t by = taken ? 1U : ~std::uint32_t{0};
  in_slots_ += by;
  domains_[domain_of(w)].slots += by;
}

void simulation::set_state(worker_id w, state s) noexcept {
  seat& now = at(w);
  measured_.spent(groups_[group_of(w)].kind, now.since_ns, now_ns_, now.now == state::running,
                  now.now == state::asleep);
  if (now.now == state::running) live_.busy(w, now.since_ns, now_ns_);
  now.since_ns = now_ns_;
  if (now.now == s) return;
  if (s == state::running) ++running_;
  if (now.now == state::running) --running_;
  now.now = s;
  ++now.generation;
}

void simulation::sample_loads() {
  std::vector<float> load;
  for (const locality_group& g : groups_.groups()) {
    std::uint32_t tasks = injection_of_[g.id.value] == g.id ? injected(g.id) : 0;
    for (const worker_place& w : layout_.of_group(g.id))
      tasks += boards_.view().load(boards_.slot(w.id)).total();
    load.push_back(static_cast<float>(tasks) /
                   static_cast<float>(std::max<std::size_t>(1, layout_.of_group(g.id).size())));
  }
  measured_.sample(now_ns_, std::move(load));
}

void simulation::tell_moment() const {
  live_figures now{.time = std::chrono::nanoseconds{now_ns_}, .metrics = {}};
  metrics_snapshot& m = now.metrics;
  m.workers = live_.workers();
  for (worker_metrics& w : m.workers) {
    const seat& s = seats_[w.worker.value];
    if (s.now == state::running) w.busy += std::chrono::nanoseconds{now_ns_ - s.since_ns};
    w.load = s.ring.size() + s.inbox.size() + s.forks.size() + (s.lifo != no_task ? 1U : 0U) +
             (s.running != no_task ? 1U : 0U);
  }
  m.finished = measured_.ended_tasks();
  m.submitted = m.finished + tasks_.alive();
  m.injected = injected_;
  for (const domain_books& d : domains_) {
    m.latency_queued += d.classes[static_cast<std::size_t>(task_class::latency) - 1].size();
    m.background_queued += d.classes[static_cast<std::size_t>(task_class::background) - 1].size();
  }
  options_.on_moment(now);
}

wide simulation::still_in_system() {
  wide sum = 0;
  const auto add = [&](task_index t) { sum += static_cast<wide>(now_ns_ - tasks_[t].submitted_ns); };
  std::set<task_index> parents;
  const auto add_with_parents = [&](task_index t) {
    add(t);
    if (workload_.shape != workload::kind::fork_join) return;
    for (task_index p = tasks_[t].owner; p != nowhere && parents.insert(p).second; p = tasks_[p].owner)
      add(p);
  };
  const auto row_with_parents = [&](const task_row& row) {
    for (task_index t = row.front(); t != no_task; t = tasks_[t].next) add_with_parents(t);
  };
  for (const seat& s : seats_) {
    row_with_parents(s.ring);
    row_with_parents(s.inbox);
    row_with_parents(s.forks);
    if (s.lifo != no_task) add_with_parents(s.lifo);
    if (s.running != no_task) add_with_parents(s.running);
  }
  for (const group_books& g : groups_books_) row_with_parents(g.injection);
  for (const domain_books& d : domains_)
    for (const task_row& row : d.classes) row_with_parents(row);
  return sum;
}

} // namespace detail

} // namespace corewise
