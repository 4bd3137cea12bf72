#pragma once

#include <corewise/topology/sharing.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace corewise::detail {

/// A file in which daemons that share a machine say so: each has an entry with its weight and its CPUs, and a lock on it.
/// The locks are those of the process (F_SETLK): the kernel takes them away when it ends, however it ends, and its children
/// have none. An entry without a lock counts for nothing. No other part of the process may open the file: to close it
/// would give up the locks. This class keeps its descriptor to the end of the process. Call from one thread at a time;
/// several objects may stand for one file.
class share_file {
 public:
  /// Opens the file, makes it (mode 0600) if there is none, and takes an entry. Throws `topology_error` where it cannot be
  /// opened, is no plain file, has another mode than 0600 or 0660, holds something else, or has no free entry.
  share_file(const std::filesystem::path& file, const sharer& self);
  share_file(const share_file&) = delete;
  share_file& operator=(const share_file&) = delete;
  /// Gives the entry up.
  ~share_file();

  /// All that take part now, in an order that is the same for all of them.
  struct view {
    std::vector<sharer> all;
    std::size_t own = 0;        ///< index into `all`
    std::size_t unreadable = 0; ///< holders of entries whose text cannot be understood; they are left out
    bool replaced = false;      ///< the path leads to another file now, or to none
  };
  /// Writes what `self` is now, unless its entry says so, and reads the others. Cost: two system calls an entry, 50 us.
  /// Throws `topology_error`, `std::bad_alloc`.
  view look(const sharer& self);

 private:
  class opened;

  void write(const sharer& self);

  opened* const file_;
  const std::uint32_t entry_;
};

} // namespace corewise::detail
