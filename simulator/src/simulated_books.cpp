#include "simulated_state.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

// Checks that the boards that the policies are shown, and the counters, agree with the queues and with the
// states of workers: counts anew, by walking through every queue.

namespace corewise::detail {

namespace {

void require(bool right, const char* what, std::size_t of) {
  if (!right)
    throw std::logic_error(std::string("the simulation's books are wrong: ") + what + ", " +
                           std::to_string(of));
}

} // namespace

/// Counts a row by following its tasks.
std::uint32_t simulated_queues::counted(const task_row& row) const {
  std::uint32_t n = 0;
  for (task_index t = row.front(); t != no_task; t = tasks_[t].next) ++n;
  require(n == row.size(), "the size of a queue", n);
  return n;
}

/// Checks a worker's board entry against its queues. Returns how many tasks wait there that any worker may
/// take.
std::uint32_t simulated_queues::look_through_worker(worker_id w) const {
  const worker_queues& q = of(w);
  const std::uint32_t queued = counted(q.ring) + counted(q.inbox) + counted(q.forks);
  const worker_load shown = boards_.view().load(boards_.entry(w));
  require(shown.queued == queued, "the queued tasks of a worker", w.value);
  require(shown.slot == (q.lifo != no_task ? 1U : 0U), "a worker's LIFO slot", w.value);
  require(shown.running == (q.running != no_task ? 1U : 0U), "the running task of a worker", w.value);
  const std::uint8_t level = boards_.of_worker(w).levels.at(boards_.index_in_group(w));
  require(level == load_level(shown.total()), "a worker's level of load", w.value);
  return queued;
}

std::uint32_t simulated_queues::look_through_group(const locality_group& g) const {
  std::uint32_t queued = 0;
  std::uint8_t least = load_levels::no_worker;
  for (const worker_place& w : setup_.layout.of_group(g.id)) {
    queued += look_through_worker(w.id);
    least = std::min(least, load_level(boards_.view().load(boards_.entry(w.id)).total()));
  }
  require(groups_[g.id.value].waiting == queued, "the tasks that wait in a group", g.id.value);
  const load_levels* of_groups = boards_.view().group_levels;
  require(of_groups == nullptr || of_groups->at(g.id.value) == least, "a group's least level", g.id.value);
  return queued;
}

void simulated_queues::look_through() const {
  std::uint32_t queued = 0, slots = 0, in_rows = 0, in_classes = 0, loaded = 0;
  std::vector<std::uint32_t> waiting(domains_.size()), slots_of(domains_.size());
  for (const locality_group& g : setup_.groups.groups()) {
    const std::uint32_t of_group = look_through_group(g);
    queued += of_group;
    waiting[g.domain] += of_group;
    in_rows += counted(groups_[g.id.value].injection);
  }
  for (const worker_place& w : setup_.layout.workers())
    slots_of[setup_.domain_of(w.id)] += of(w.id).lifo != no_task ? 1 : 0;
  for (std::uint32_t d = 0; d < domains_.size(); ++d) {
    require(domains_[d].waiting == waiting[d], "the tasks that wait in a domain", d);
    require(domains_[d].slots == slots_of[d], "the LIFO slots that are taken in a domain", d);
    for (const task_row& row : domains_[d].classes) in_classes += counted(row);
    slots += slots_of[d];
    loaded += waiting[d] != 0 ? 1 : 0;
  }
  require(waiting_ == queued, "the tasks that wait for workers", waiting_);
  require(injected_ == in_rows, "the tasks that wait in injection queues", injected_);
  require(in_classes_ == in_classes, "the tasks that wait in class queues", in_classes_);
  require(in_slots_ == slots, "the tasks that wait in LIFO slots", in_slots_);
  require(loaded_domains_ == loaded, "the number of domains with waiting tasks", loaded_domains_);
}

void worker_states::look_through() const {
  std::uint32_t asleep = 0, running = 0;
  std::vector<std::uint32_t> searching(domains_.size()), sleepers(sleepers_.size());
  for (const worker_place& place : setup_.layout.workers()) {
    const worker_id w = place.id;
    const worker& s = workers_[w.value];
    const bool sleeps = s.now == worker_state::asleep;
    const group_board& board = boards_.of_worker(w);
    require(board.parked.test(boards_.index_in_group(w)) == sleeps, "the parked workers", w.value);
    // A submitter that sends a searcher a task clears the searcher's bit.
    const bool shown = board.spinning.test(boards_.index_in_group(w));
    require(!shown || s.now == worker_state::spinning, "the searching workers", w.value);
    asleep += sleeps ? 1 : 0;
    sleepers[place.group.value] += sleeps ? 1 : 0;
    running += s.now == worker_state::running ? 1 : 0;
    searching[setup_.domain_of(w)] += s.searching ? 1 : 0;
  }
  for (std::size_t g = 0; g < sleepers.size(); ++g)
    require(sleepers_[g] == sleepers[g], "the number of a group's sleepers", g);
  for (std::size_t d = 0; d < searching.size(); ++d)
    require(domains_[d].searching == searching[d], "the number of a domain's searchers", d);
  require(asleep_ == asleep, "the number of sleepers", asleep_);
  require(running_ == running, "the number of workers with a task", running_);
}

void spinners::look_through() const {
  std::size_t listed = 0;
  for (const auto& domain : of_domain_) listed += domain.size();
  require(listed_ == listed, "the number of workers that spin with no look planned", listed_);
}

void simulated_state::look_through() const {
  queues.look_through();
  workers.look_through();
  spinning.look_through();
  for (const worker_place& w : setup.layout.workers()) {
    const bool runs = workers.of(w.id) == worker_state::running;
    require((queues.of(w.id).running != no_task) == runs, "a worker's state", w.id.value);
  }
}

} // namespace corewise::detail
