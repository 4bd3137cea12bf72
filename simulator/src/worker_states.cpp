#include "worker_states.hpp"

#include <corewise/policies/idle_rules.hpp>

namespace corewise::detail {

worker_states::worker_states(const run_setup& setup, const simulated_clock& clock, simulated_boards& boards,
                             measuring& measured, live_counts& live)
    : setup_(setup),
      clock_(clock),
      boards_(boards),
      measured_(measured),
      live_(live),
      workers_(setup.layout.size()),
      domains_(setup.groups.domains().size()),
      sleepers_(setup.groups.size()),
      running_in_(setup.groups.size()),
      asleep_(static_cast<std::uint32_t>(setup.layout.size())) {
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    std::size_t workers = 0;
    for (const group_id g : setup.groups.domains()[d]) workers += setup.layout.of_group(g).size();
    domains_[d].searchers_max =
        searchers_of(static_cast<std::uint32_t>(workers), setup.profile.idle.searchers_per_mille);
  }
  for (const worker_place& w : setup.layout.workers()) {
    boards_.of(w.group).parked.set(boards_.index_in_group(w.id));
    ++sleepers_[w.group.value];
  }
}

void worker_states::change(worker_id w, worker_state to) noexcept {
  worker& of = workers_[w.value];
  const std::int64_t now_ns = clock_.now_ns();
  measured_.spent(setup_.groups[setup_.group_of(w)].kind, of.since_ns, now_ns,
                  of.now == worker_state::running, of.now == worker_state::asleep);
  if (of.now == worker_state::running) live_.busy(w, of.since_ns, now_ns);
  of.since_ns = now_ns;
  if (of.now == to) return;
  std::uint32_t& running_in_group = running_in_[setup_.group_of(w).value];
  if (to == worker_state::running) ++running_, ++running_in_group;
  if (of.now == worker_state::running) --running_, --running_in_group;
  of.now = to;
  ++of.generation;
}

double worker_states::sharing(group_id g) const noexcept {
  const locality_group& group = setup_.groups[g];
  const auto cores = static_cast<std::uint32_t>(group.cores.size());
  const std::uint32_t running = running_in_[g.value];
  if (running <= cores || group.cpus.size() == cores) return 1;
  // `fuller` cores have one worker more than the others. Each worker counts the others on its core.
  const std::uint32_t least = running / cores;
  const std::uint32_t fuller = running % cores;
  const std::uint32_t others = fuller * (least + 1) * least + (cores - fuller) * least * (least - 1);
  return 1 + (setup_.costs.slowdown.shared_core - 1) * others / running;
}

void worker_states::begin_spinning(worker_id w) noexcept {
  change(w, worker_state::spinning);
  boards_.of_worker(w).spinning.set(boards_.index_in_group(w));
}

void worker_states::fall_asleep(worker_id w) noexcept {
  change(w, worker_state::asleep);
  boards_.of_worker(w).parked.set(boards_.index_in_group(w));
  ++asleep_;
  ++sleepers_[setup_.group_of(w).value];
  measured_.parked();
  live_.parked(w);
}

bool worker_states::wake(group_id g, std::size_t index) noexcept {
  worker_bits& parked = boards_.of(g).parked;
  if (!parked.test(index) || !parked.claim(index)) return false;
  const worker_id w = setup_.layout.of_group(g)[index].id;
  --asleep_;
  --sleepers_[g.value];
  begin_search(w);
  change(w, worker_state::waking);
  measured_.woken();
  return true;
}

void worker_states::begin_search(worker_id w) noexcept {
  ++domains_[setup_.domain_of(w)].searching;
  workers_[w.value].searching = true;
}

bool worker_states::end_search(worker_id w) noexcept {
  workers_[w.value].searching = false;
  return --domains_[setup_.domain_of(w)].searching == 0;
}

} // namespace corewise::detail
