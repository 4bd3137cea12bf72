#pragma once

#include <corewise/engine/engine.hpp>

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace corewise::emulated {

/// The threads of an engine's workers, as the kernel knows them.
class worker_threads {
 public:
  /// What tells it of them: for the engine's constructor. It must outlive the engine.
  engine_hooks hooks();
  /// Returns the line of a worker's /proc/self/task/TID/status that begins with `name`, without the name; "": there is none.
  std::string status(worker_id w, const std::string& name);

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, pid_t> ids_; // guarded, by worker
};

} // namespace corewise::emulated
