#pragma once

#include "found_file.hpp"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace corewise::command {

/// Finds the regular files of a tree as `find ROOT -type f` does, names them as it does, and follows no
/// symbolic link.
///
/// The walk reads each directory whole before it opens any below it: it reports the directory's files at once
/// and keeps the names of its directories. So a directory of a million files costs no memory, one of a
/// million directories their names. A tree may be deeper than there are descriptors: beyond `held_most` only
/// the deepest stay open. A way back up goes through ".." and is checked to lead where it came from.
class tree_walk {
 public:
  struct listener {
    std::function<void(found_file)> on_file; ///< may wait, and may throw to end the walk
    std::function<void(trouble)> on_trouble;
  };

  /// Prepares a walk. `held_most` is at least 1.
  tree_walk(listener hears, std::size_t held_most);

  /// Walks the tree. Throws what the listener throws.
  void run(const std::string& root);

 private:
  struct frame {
    std::shared_ptr<const open_directory> directory; ///< nothing: given back, to be reopened from below
    std::size_t depth = 0;
    std::size_t path_length = 0;
    std::string pending; ///< names of directories to visit, each with a NUL behind it
    dev_t device = 0;    ///< known when `directory` was given back
    ino_t inode = 0;
  };

  void enter(int fd, std::size_t depth);
  void read_entries(frame& into);
  void take_entry(frame& into, const char* name, unsigned char type);
  void visit_next();
  void give_back_shallowest();
  bool reopen(frame& f);
  void complain_of(std::string path, int error);

  listener hears_;
  std::size_t held_most_;
  std::vector<char> entries_;
  std::vector<frame> stack_;                   // directories that have directories to visit, outermost first
  std::size_t given_back_ = 0;                 // how many of `stack_`, from the first on, are not open
  std::string path_;                           // of the directory in `last_`
  std::shared_ptr<const open_directory> last_; // opened last: it lies below all of `stack_`
  std::size_t last_depth_ = 0;
};

} // namespace corewise::command
