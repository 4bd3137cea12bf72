#include "digest_run.hpp"

#include "../streams.hpp"
#include "tree_walk.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>

namespace corewise::command {

namespace {

constexpr std::size_t queue_most = 1024;
constexpr std::size_t files_a_lane = 64; // files that are worth a task
constexpr std::size_t lanes_most = 32;

constexpr std::size_t path_bytes_most = std::size_t{16} << 20;

/// How many directories may be open beside all else that needs a descriptor: the lanes' files, and a reserve.
std::size_t directories_allowed(std::size_t lanes) {
  constexpr std::size_t few = 8;
  constexpr std::size_t plenty = 2048;
  const std::size_t spoken_for = lanes + 24;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur <= spoken_for + few) return few;
  return static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur - spoken_for, plenty));
}

} // namespace

std::size_t digest_run::lanes_for(std::size_t workers) {
  return std::clamp<std::size_t>(2 * workers, 4, lanes_most);
}

digest_run::digest_run(engine& e, bool show_progress)
    : directories_most_(directories_allowed(lanes_for(e.workers().size()))),
      progress_(show_progress) {
  for (std::size_t i = lanes_for(e.workers().size()); i > 0; --i)
    idle_.push_back(&lanes_.emplace_back(e, files_, [this](lane& l) { come_home(l); }));
}

digest_run::~digest_run() {
  files_.clear();
  for (lane& l : lanes_) l.stop();
  std::unique_lock lock(mutex_);
  while (idle_.size() < lanes_.size()) {
    somebody_home_.wait(lock, [this] { return !home_.empty(); });
    idle_.insert(idle_.end(), home_.begin(), home_.end());
    home_.clear();
  }
}

bool digest_run::run(const std::string& root) {
  tree_walk walk({[this](found_file file) { take_file(std::move(file)); },
                  [this](const trouble& t) { take_trouble(t); }},
                 std::min<std::size_t>(directories_most_ / 2, 64));
  walk.run(root);
  finish();
  progress_.clear();
  return complete_;
}

void digest_run::take_file(found_file file) {
  queued_ = files_.push(std::move(file));
  if (any_home_.load(std::memory_order_relaxed)) welcome_home();
  if (queued_ >= files_a_lane) send_out_lanes(files_a_lane);
  while (crowded()) {
    send_out_lanes(1);
    if (!wait_for_lane()) return;
    queued_ = files_.size();
  }
  if (progress_.is_due()) progress_.show(count());
}

/// Returns whether the walk is too far ahead of the lanes.
bool digest_run::crowded() const {
  return queued_ >= queue_most || open_directory::count() >= directories_most_ ||
         open_directory::path_bytes() >= path_bytes_most;
}

void digest_run::send_out_lanes(std::size_t files_each) {
  for (std::size_t left = queued_; left >= files_each && left > 0 && !idle_.empty();
       left -= std::min(left, files_a_lane)) {
    lane* next = idle_.back();
    idle_.pop_back();
    next->start();
  }
}

void digest_run::finish() {
  for (;;) {
    queued_ = files_.size();
    send_out_lanes(1);
    if (!wait_for_lane() && queued_ == 0) return;
  }
}

/// Notes that a lane is at home. Called by the lane's last step, on any thread.
void digest_run::come_home(lane& l) {
  const std::lock_guard lock(mutex_);
  home_.push_back(&l);
  any_home_.store(true, std::memory_order_relaxed);
  somebody_home_.notify_one(); // inside the lock: nothing of this object may be touched after it
}

/// Waits for a lane and welcomes it. Returns false when no lane is out.
bool digest_run::wait_for_lane() {
  if (idle_.size() == lanes_.size()) return false;
  const auto is_home = [this] { return !home_.empty(); };
  std::unique_lock lock(mutex_);
  while (!somebody_home_.wait_for(lock, progress::interval, is_home)) {
    lock.unlock();
    progress_.show(count());
    lock.lock();
  }
  lock.unlock();
  welcome_home();
  return true;
}

void digest_run::welcome_home() {
  std::vector<lane*> home;
  {
    const std::lock_guard lock(mutex_);
    home.swap(home_);
    any_home_.store(false, std::memory_order_relaxed);
  }
  idle_.insert(idle_.end(), home.begin(), home.end());
  for (lane* l : home) print_results(*l);
  const auto unfinished =
      std::partition(idle_.begin(), idle_.end(), [](lane* l) { return !l->unfinished(); });
  const std::vector<lane*> again(unfinished, idle_.end());
  idle_.erase(unfinished, idle_.end());
  for (lane* l : again) l->start();
}

void digest_run::print_results(lane& l) {
  if (const auto failure = l.failure()) std::rethrow_exception(failure);
  for (const trouble& t : l.troubles) take_trouble(t);
  l.troubles.clear();
  if (l.lines.empty()) return;
  progress_.clear();
  print(l.lines);
  l.lines.clear();
}

void digest_run::take_trouble(const trouble& t) {
  complete_ = false;
  progress_.clear();
  complain(fmt::format("{}: {}", escaped(t.path), t.reason));
}

digest_count digest_run::count() const {
  digest_count sum;
  for (const lane& l : lanes_) {
    sum.files += l.files_hashed();
    sum.bytes += l.bytes_hashed();
  }
  return sum;
}

} // namespace corewise::command
