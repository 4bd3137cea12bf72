#pragma once

#include "outside.hpp"

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace corewise::tests {

/// A step: what to do, and which coroutine does it or how often.
using steps = std::vector<std::pair<int, std::size_t>>;

/// Coroutines, each with its own stop source; their answers go to `said`.
class company {
 public:
  std::string said;

  std::size_t next() const { return members_.size(); }
  template <class Start> void join(const Start& start) { // a coroutine that outlives the call
    members_.push_back(std::make_unique<member>());
    member& m = *members_.back();
    m.runs = std::make_unique<outside>(start(m.stop.get_token(), members_.size() - 1));
  }
  void stop(std::size_t who) { members_[who]->stop.request_stop(); }
  void destroy(std::size_t who) { members_[who]->runs.reset(); }

 private:
  struct member {
    std::stop_source stop;
    std::unique_ptr<outside> runs;
  };
  std::vector<std::unique_ptr<member>> members_;
};

inline std::string said_by(std::size_t who, const std::string& what) {
  return std::to_string(who) + what + " ";
}

} // namespace corewise::tests
