#pragma once

#include "topology/temporary_tree.hpp"

#include <doctest/doctest.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

// Shared by the tests of share files, and of the engines that share a machine by one.

namespace corewise::tests {

/// A file that does not exist yet.
class new_file {
 public:
  const std::string& path() const { return path_; }

 private:
  temporary_tree folder_;
  std::string path_ = (folder_.root() / "shares").string();
};

inline void end_by(int signal, pid_t child) {
  REQUIRE(::kill(child, signal) == 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
}

} // namespace corewise::tests
