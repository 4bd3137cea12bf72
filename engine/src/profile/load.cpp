#include "profile_fields.hpp"
#include "read_fields.hpp"
#include "source_file.hpp"
#include "text_file.hpp"

namespace corewise {

namespace {

/// Reads a profile. `folder` is where its relative paths begin; without a folder they stay as they are.
profile parse(std::string_view yaml, const std::string& name, const std::filesystem::path* folder) {
  detail::issue_list issues(name);
  profile p;
  p.source = name;
  const auto positions = detail::read_fields(yaml, detail::profile_fields(), p, issues);
  detail::add_contradictions(detail::find_contradictions(p), positions, issues);
  if (folder) detail::resolve_source(p.topology.machine.source, *folder, "topology.", positions, issues);
  std::move(issues).throw_if_any();
  return p;
}

} // namespace

profile load_profile(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return parse(detail::read_text_file(file), file, &folder);
}

profile parse_profile(std::string_view yaml, const std::string& name) { return parse(yaml, name, nullptr); }

} // namespace corewise
