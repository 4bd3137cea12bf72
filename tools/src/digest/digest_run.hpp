#pragma once

#include "file_queue.hpp"
#include "lane.hpp"
#include "progress.hpp"

#include <corewise/engine/engine.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace corewise::command {

/// SHA-256 of every regular file of a tree.
///
/// The calling thread walks the tree and prints; lanes, which it sends out, read and hash on the engine:
///
///     walk ─► file_queue ─► lanes (fill, hash) ─► home ─► print
///
/// The calling thread waits for lanes when the queue is full, and sends a lane out only after it has printed
/// the lane's lines. So a slow reader of the output slows the lanes down, and no tree and no file makes the
/// memory grow.
class digest_run {
 public:
  digest_run(engine& e, bool show_progress);
  /// Waits for the lanes that are still out.
  ~digest_run();
  digest_run(const digest_run&) = delete;
  digest_run& operator=(const digest_run&) = delete;

  /// Runs the digest. Returns whether it could read everything that it found.
  /// Throws `std::system_error` when standard output takes no more, and rethrows what a step on the engine
  /// threw.
  bool run(const std::string& root);

  digest_count count() const;

  /// How many lanes so many workers get: two each keep hashing while one of the lanes reads; more would only
  /// need memory.
  static std::size_t lanes_for(std::size_t workers);

 private:
  void take_file(found_file file);
  void take_trouble(const trouble& t);
  bool crowded() const;
  void send_out_lanes(std::size_t files_each);
  void finish();
  void welcome_home();
  bool wait_for_lane();
  void print_results(lane& l);

  void come_home(lane& l);

  std::size_t directories_most_; // that may be open, those of the walk among them
  file_queue files_;
  std::size_t queued_ = 0; // files in `files_` at the last look
  std::deque<lane> lanes_;
  std::vector<lane*> idle_;
  bool complete_ = true;
  progress progress_;

  std::mutex mutex_;
  std::condition_variable somebody_home_;
  std::vector<lane*> home_;           // guarded by mutex_
  std::atomic<bool> any_home_{false}; // whether home_ has any: spares a lock for each file
};

} // namespace corewise::command
