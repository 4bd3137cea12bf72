#include "simulation_state.hpp"

#include <stdexcept>
#include <string>

// Checks that the boards that the policies are shown, and the counters, agree with the queues: counts anew,
// by walking through every queue.

namespace corewise::detail {

namespace {

void require(bool right, const char* what, std::uint32_t of) {
  if (!right)
    throw std::logic_error(std::string("the simulation's books are wrong: ") + what + ", " +
                           std::to_string(of));
}

} // namespace

/// Counts a row by following its tasks.
std::uint32_t simulation::counted(const task_row& row) {
  std::uint32_t n = 0;
  for (task_index t = row.front(); t != no_task; t = tasks_[t].next) ++n;
  require(n == row.size(), "the size of a queue", n);
  return n;
}

/// Checks a worker's board slot against its queues. Returns how many tasks wait there that any worker may
/// take.
std::uint32_t simulation::look_through_seat(worker_id w) {
  const seat& s = at(w);
  const std::uint32_t queued = counted(s.ring) + counted(s.inbox) + counted(s.forks);
  const worker_load shown = boards_.view().load(boards_.slot(w));
  require(shown.queued == queued, "the queued tasks of a worker", w.value);
  require(shown.slot == (s.lifo != no_task ? 1U : 0U), "a worker's LIFO slot", w.value);
  require(shown.running == (s.running != no_task ? 1U : 0U), "the running task of a worker", w.value);
  require((s.running != no_task) == (s.now == state::running), "a worker's state", w.value);

  const group_board& board = boards_.of_worker(w);
  const std::uint32_t place = boards_.place(w);
  require(board.levels.at(place) == load_level(shown.total()), "a worker's level of load", w.value);
  require(board.parked.test(place) == (s.now == state::asleep), "the parked workers", w.value);
  // A submitter that sends a searcher a task clears the searcher's bit.
  require(!board.spinning.test(place) || s.now == state::spinning, "the searching workers", w.value);
  return queued;
}

std::uint32_t simulation::look_through_group(const locality_group& g) {
  std::uint32_t queued = 0, sleepers = 0;
  std::uint8_t least = load_levels::nobody;
  for (const worker_place& w : layout_.of_group(g.id)) {
    queued += look_through_seat(w.id);
    sleepers += at(w.id).now == state::asleep ? 1 : 0;
    least = std::min(least, load_level(boards_.view().load(boards_.slot(w.id)).total()));
  }
  require(groups_books_[g.id.value].waiting == queued, "the tasks that wait in a group", g.id.value);
  require(sleepers_[g.id.value] == sleepers, "the number of a group's sleepers", g.id.value);
  const load_levels* of_groups = boards_.view().group_levels;
  require(of_groups == nullptr || of_groups->at(g.id.value) == least, "a group's least level", g.id.value);
  return queued;
}

void simulation::look_through_books() {
  std::uint32_t queued = 0, asleep = 0, running = 0, slots = 0, in_rows = 0, in_classes = 0;
  std::size_t listed = 0, loaded = 0;
  std::vector<std::uint32_t> searching(domains_.size()), waiting(domains_.size());
  for (const locality_group& g : groups_.groups()) {
    const std::uint32_t of_group = look_through_group(g);
    queued += of_group;
    waiting[g.domain] += of_group;
    in_rows += counted(groups_books_[g.id.value].injection);
  }
  for (const worker_place& w : layout_.workers()) {
    const seat& s = at(w.id);
    asleep += s.now == state::asleep ? 1 : 0;
    running += s.now == state::running ? 1 : 0;
    slots += s.lifo != no_task ? 1 : 0;
    searching[domain_of(w.id)] += s.searching ? 1 : 0;
  }
  for (std::uint32_t d = 0; d < domains_.size(); ++d) {
    require(domains_[d].waiting == waiting[d], "the tasks that wait in a domain", d);
    require(domains_[d].searching == searching[d], "the number of a domain's searchers", d);
    for (const task_row& row : domains_[d].classes) in_classes += counted(row);
    listed += domains_[d].spinners.size();
    loaded += waiting[d] != 0 ? 1 : 0;
  }
  require(waiting_ == queued, "the tasks that wait for workers", waiting_);
  require(injected_ == in_rows, "the tasks that wait in injection queues", injected_);
  require(in_classes_ == in_classes, "the tasks that wait in class queues", in_classes_);
  require(in_slots_ == slots, "the tasks that wait in LIFO slots", in_slots_);
  require(listed_ == listed, "the number of workers that spin with no look planned", listed_);
  require(loaded_domains_ == loaded, "the number of domains with waiting tasks", loaded_domains_);
  require(asleep_ == asleep, "the number of sleepers", asleep_);
  require(running_ == running, "the number of workers with a task", running_);
}

} // namespace corewise::detail
