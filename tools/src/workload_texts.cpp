#include "workload_texts.hpp"

#include "streams.hpp"

#include <sstream>

namespace corewise::command {

namespace {

/// Reads a workload. Prints all its errors and returns nothing if it has any.
std::optional<workload> read_workload(const std::string& text) {
  try {
    return parse_workload(text);
  } catch (const workload_error& error) {
    std::istringstream problems(error.what());
    for (std::string problem; std::getline(problems, problem);) complain("--workload: " + problem);
    return std::nullopt;
  }
}

} // namespace

std::optional<std::vector<workload>> read_workloads(const std::vector<std::string>& texts) {
  std::vector<workload> all;
  for (const std::string& text : texts)
    if (auto read = read_workload(text)) all.push_back(*std::move(read));
  if (all.size() == texts.size()) return all;
  complain("docs/simulation.md explains the words of a workload, and `corewise simulate --help` lists them");
  return std::nullopt;
}

void check_traces(const std::vector<workload>& workloads) {
  for (const workload& w : workloads)
    if (w.shape == workload::kind::trace) (void)arrival_stream(w, 1, 1);
}

} // namespace corewise::command
