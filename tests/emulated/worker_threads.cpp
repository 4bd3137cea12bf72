#include "worker_threads.hpp"

#include <unistd.h>

#include <fstream>

namespace corewise::emulated {

engine_hooks worker_threads::hooks() {
  engine_hooks h;
  h.on_worker_start = [this](worker_id w) {
    const std::scoped_lock lock(mutex_);
    ids_[w.value] = ::gettid();
  };
  return h;
}

std::string worker_threads::status(worker_id w, const std::string& name) {
  pid_t thread = 0;
  {
    const std::scoped_lock lock(mutex_);
    thread = ids_.at(w.value);
  }
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "";
}

} // namespace corewise::emulated
