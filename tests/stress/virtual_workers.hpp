#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

// A scheduler without threads: virtual workers take one step each in turn, so a run is the same every time, and a run
// that comes back to a state that it has been in never ends. It shows which disciplines of queues the soundness test
// tells apart; the engine's own is tested with the engine.

namespace corewise::tests {

/// What a worker does when its ring has no room.
enum class overflow {
  to_global, ///< half of the ring goes to the global queue
  in_batches ///< half of the ring becomes a batch in a queue of batches, which is read only when the ring is empty
};
/// Where a worker looks at the global queue, once in `interval` steps.
enum class periodic_look {
  before_ring,
  behind_ring ///< so a worker whose ring is never empty never gets there
};

struct discipline {
  overflow when_full = overflow::to_global;
  periodic_look look = periodic_look::before_ring;
};

/// Seeds §1 on virtual workers: n - 1 tasks spin until a flag is set; 200 do nothing, one sets the flag, 1,000 do nothing,
/// and the task that began them all yields until it is set.
class virtual_workers {
 public:
  enum class outcome { ended, never_ends, undecided };

  virtual_workers(std::size_t workers, discipline rules) : rules_(rules), workers_(workers) {
    for (std::size_t i = 0; i + 1 < workers; ++i) to_begin_.push_back(task::spins);
    to_begin_.insert(to_begin_.end(), 200, task::trivial);
    to_begin_.push_back(task::sets_flag);
    to_begin_.insert(to_begin_.end(), 1000, task::trivial);
    alive_ = to_begin_.size() + 1;
    global_.push_back(task::first); // from outside
  }

  /// `most` rounds, in each of which every worker takes a step.
  outcome run(std::size_t most) {
    std::set<std::string> been;
    for (std::size_t round = 0; round < most; ++round) {
      for (std::size_t w = 0; w < workers_.size(); ++w) step(w);
      if (alive_ == 0) return outcome::ended;
      // Whoever is in a state again will be in it for ever; to look now and then is enough.
      if (begun_ == to_begin_.size() && round % interval == 0 && !been.insert(state()).second)
        return outcome::never_ends;
    }
    return outcome::undecided;
  }

 private:
  enum class task : char { none = '-', first = 'f', spins = 's', sets_flag = '!', trivial = 't' };
  static constexpr std::size_t ring_size = 256;
  static constexpr std::size_t interval = 61;

  struct worker {
    std::deque<task> ring;
    bool beginning = false; // the first task runs here and begins the others, one in a step
    std::size_t steps = 0;
  };

  void step(std::size_t w) {
    worker& me = workers_[w];
    ++me.steps;
    if (me.beginning)
      begin_one(me);
    else
      execute(me, next(w));
  }

  void begin_one(worker& me) {
    if (begun_ < to_begin_.size()) return push(me, to_begin_[begun_++]);
    me.beginning = false;
    push(me, task::first); // it yields
  }

  void execute(worker& me, task t) {
    switch (t) {
    case task::none: return;
    case task::first:
      if (begun_ == 0 && !to_begin_.empty()) {
        me.beginning = true;
        return;
      }
      [[fallthrough]];
    case task::spins:
      if (!flag_) return push(me, t);
      break;
    case task::sets_flag: flag_ = true; break;
    case task::trivial: break;
    }
    --alive_;
  }

  void push(worker& me, task t) {
    if (me.ring.size() < ring_size) return me.ring.push_back(t);
    const auto half = me.ring.begin() + ring_size / 2;
    if (rules_.when_full == overflow::in_batches)
      batches_.emplace_back(me.ring.begin(), half);
    else
      global_.insert(global_.end(), me.ring.begin(), half);
    me.ring.erase(me.ring.begin(), half);
    me.ring.push_back(t);
  }

  task next(std::size_t w) {
    worker& me = workers_[w];
    const bool due = me.steps % interval == 0;
    if (due && rules_.look == periodic_look::before_ring && !global_.empty()) return take(global_);
    if (!me.ring.empty()) return take(me.ring);
    if (!global_.empty()) return take(global_); // due or not
    if (!batches_.empty()) {
      me.ring.assign(batches_.front().begin(), batches_.front().end());
      batches_.pop_front();
      return take(me.ring);
    }
    return steal(w);
  }

  task steal(std::size_t thief) {
    worker& me = workers_[thief];
    for (std::size_t i = 1; i < workers_.size(); ++i) {
      worker& victim = workers_[(thief + i) % workers_.size()];
      if (victim.ring.empty()) continue;
      const auto half = victim.ring.begin() + static_cast<std::ptrdiff_t>((victim.ring.size() + 1) / 2);
      me.ring.assign(victim.ring.begin(), half);
      victim.ring.erase(victim.ring.begin(), half);
      return take(me.ring);
    }
    return task::none;
  }

  static task take(std::deque<task>& from) {
    const task t = from.front();
    from.pop_front();
    return t;
  }

  /// All that what comes next depends on.
  std::string state() const {
    std::string s;
    const auto add = [&](const std::deque<task>& queue) {
      for (const task t : queue) s += static_cast<char>(t);
      s += '|';
    };
    for (const worker& w : workers_) {
      add(w.ring);
      s += std::to_string(w.steps % interval) + (w.beginning ? "b" : "") + ';';
    }
    add(global_);
    for (const auto& b : batches_) add(b);
    return s += flag_ ? '1' : '0';
  }

  discipline rules_;
  std::vector<worker> workers_;
  std::deque<task> global_;
  std::deque<std::deque<task>> batches_;
  std::vector<task> to_begin_;
  std::size_t begun_ = 0;
  std::size_t alive_ = 0;
  bool flag_ = false;
};

} // namespace corewise::tests
