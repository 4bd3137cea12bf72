#pragma once

#include "checksum.hpp"
#include "file_queue.hpp"

#include <corewise/engine/engine.hpp>

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace corewise::command {

/// Part of a file in a chunk.
struct file_part {
  enum class fate : std::uint8_t { goes_on, ends, failed };

  fate is = fate::goes_on;
  std::size_t begin = 0;
  std::size_t length = 0;
  found_file file; ///< empty while the file goes on
  int error = 0;
};

/// The data of one blocking call: many small files, or a piece of a large one.
struct chunk {
  static constexpr std::size_t capacity = std::size_t{512} * 1024;
  static constexpr std::size_t files_most = 256;
  static constexpr std::size_t path_bytes_most = std::size_t{64} * 1024;

  chunk() : bytes(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}
  bool full() const noexcept {
    return used == capacity || parts.size() >= files_most || path_bytes >= path_bytes_most;
  }
  void clear() noexcept {
    used = 0;
    path_bytes = 0;
    parts.clear();
  }

  std::unique_ptr<std::byte[]> bytes;
  std::size_t used = 0;
  std::size_t path_bytes = 0; ///< of the files in `parts`
  std::vector<file_part> parts;
};

/// Reads files one after another from the queue and hashes them, with two chunks: while one is hashed, a
/// blocking call fills the other.
///
///     start ─► fill 0 ─┬─► hash 0 ─┬─► hash 1 ─┬─► … ─► comes home
///                      └─► fill 1 ─┴─► fill 0 ─┘
///
/// It comes home when there are no more files, when it has lines enough to be printed, or when it is told to
/// stop. Its owner may look at it only then. A lane's memory does not depend on its files.
class lane {
 public:
  lane(engine& e, file_queue& files, std::function<void(lane&)> come_home);
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  /// Sends the lane out. Call it from the owner, while the lane is at home.
  void start() noexcept;
  /// Makes the lane come home after at most one more chunk. Any thread.
  void stop() noexcept { stopping_.store(true, std::memory_order_relaxed); }

  // The lane's results: the owner reads and clears them while the lane is at home.
  std::string lines;
  std::vector<trouble> troubles;
  std::exception_ptr failure() const noexcept { return failure_; }
  /// Returns whether the lane came home in the middle of a file, or with a chunk that is not hashed yet.
  bool unfinished() const noexcept { return fd_ >= 0 || !chunks_[filling_].parts.empty(); }

  // Counts since the lane was made. Any thread.
  std::uint64_t files_hashed() const noexcept { return files_hashed_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_hashed() const noexcept { return bytes_hashed_.load(std::memory_order_relaxed); }

 private:
  task<void> go();
  task<void> filled();
  task<void> hashed();
  bool has_enough() const noexcept;

  void fill(chunk& c);
  bool open_next(chunk& c);
  void read_some(chunk& c);
  void end_file(chunk& c, std::size_t length, int error);

  void hash(chunk& c);
  void hash_part(const chunk& c, file_part& part);

  engine* engine_;
  file_queue* files_;
  std::function<void(lane&)> come_home_;
  std::array<chunk, 2> chunks_;
  unsigned filling_ = 0; // the chunk that `fill` works on, or will

  found_file reading_; // the file that `fill` is at
  int fd_ = -1;
  std::size_t part_begin_ = 0;
  bool looked_at_ = false; // it has been checked to be a regular file

  checksum checksum_;
  std::exception_ptr failure_;
  // Relaxed: numbers and a wish, which publish nothing.
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> files_hashed_{0};
  std::atomic<std::uint64_t> bytes_hashed_{0};
};

} // namespace corewise::command
