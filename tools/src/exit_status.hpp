#pragma once

namespace corewise::command {

/// The command's exit status.
enum exit_status : int {
  done = 0,
  refused = 1,     ///< the answer is no, or part of the work could not be done
  wrong_usage = 2, ///< the command line makes no sense
  no_engine = 3,   ///< no engine answers at the address of `--connect`
};

} // namespace corewise::command
