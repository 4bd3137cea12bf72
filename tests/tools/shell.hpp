#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>

namespace corewise::tests {

/// The result of a program.
struct outcome {
  int status = -1; ///< its exit status, or 128 + the signal that ended it
  std::string out;
  std::string err;
};

/// An empty directory of its own, in which bash runs; the object removes it at its end.
class scratch_shell {
 public:
  scratch_shell();
  ~scratch_shell();
  scratch_shell(const scratch_shell&) = delete;
  scratch_shell& operator=(const scratch_shell&) = delete;

  /// Runs a script with the built `corewise` first in PATH, and a locale of plain ASCII.
  outcome run(const std::string& script) const;
  void write(const std::string& name, const std::string& text) const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_; // "work" in it is where scripts run
};

/// Runs a script in a scratch shell of its own.
outcome run(const std::string& script);

std::set<std::string> keys_of(const nlohmann::json& object);
/// Counts how often `what` stands in `text`.
std::size_t count_of(const std::string& what, const std::string& text);
bool contains(const std::string& text, const std::string& what);

/// Two sockets of eight P-cores (1024) and eight E-cores (512) each, as a machine file: CPUs 0-7 and 16-23
/// are P.
extern const std::string two_sockets;

/// Returns whether the command was built with a sanitizer, which reserves more address space than the limits
/// of some tests.
bool sanitized();

} // namespace corewise::tests
