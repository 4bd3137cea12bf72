#include "cgroup.hpp"

#include "sysfs.hpp"

#include <corewise/topology/thread_limit.hpp>
#include <corewise/topology/throttling.hpp>

#include <algorithm>
#include <sstream>
#include <tuple>

namespace corewise::detail {
namespace {

namespace fs = std::filesystem;

struct mount {
  std::string root;  ///< the directory of the file system that is mounted
  std::string point; ///< where it is mounted
  std::string type;
  std::string options; ///< of the file system; version 1 names its controllers here
};

struct membership {
  std::string controllers; ///< comma list; "" is version 2
  std::string path;
};

bool lists(std::string_view comma_list, std::string_view word) {
  while (!comma_list.empty()) {
    const auto comma = comma_list.find(',');
    if (comma_list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    comma_list.remove_prefix(comma + 1);
  }
  return false;
}

/// mountinfo writes blanks and backslashes as \040 and so on.
std::string unescaped(std::string_view text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size() || !octal(text[i + 1]) || !octal(text[i + 2]) ||
        !octal(text[i + 3])) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

/// One line: id, parent, device, root, point, options, any number of tags, "-", type, source, options.
std::optional<mount> parse_mount(const std::string& line) {
  std::istringstream in(line);
  std::string skipped;
  std::string root;
  std::string point;
  if (!(in >> skipped >> skipped >> skipped >> root >> point)) return std::nullopt;
  while (in >> skipped && skipped != "-") {
  }
  mount m{unescaped(root), unescaped(point), "", ""};
  if (!(in >> m.type >> skipped)) return std::nullopt;
  in >> m.options;
  return m;
}

std::vector<mount> read_mounts(const fs::path& root) {
  std::vector<mount> mounts;
  std::istringstream lines(read_text(root / "proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (auto m = parse_mount(line)) mounts.push_back(std::move(*m));
  return mounts;
}

/// One line: hierarchy id, comma list of controllers, path. The path may contain colons.
std::optional<membership> parse_membership(const std::string& line) {
  const auto first = line.find(':');
  if (first == std::string::npos) return std::nullopt;
  const auto second = line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return membership{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

std::vector<membership> read_memberships(const fs::path& root) {
  std::vector<membership> memberships;
  std::istringstream lines(read_text(root / "proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (auto m = parse_membership(line)) memberships.push_back(std::move(*m));
  return memberships;
}

/// A path in a cgroup namespace: "/../a/b" is one up from the namespace's root, then a, then b.
struct group_path {
  std::size_t ups = 0;
  std::vector<std::string> names;
};

group_path parse_group_path(const std::string& text) {
  group_path path;
  for (const auto& part : fs::path(text).relative_path()) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      path.names.push_back(part.string());
    else if (path.names.empty())
      ++path.ups;
    else
      path.names.pop_back();
  }
  return path;
}

/// The steps from the mounted directory down to the group. Returns nothing when the group is not below it. A
/// mount whose root lies above the namespace is an ancestor, but the names between the two are unknown: it
/// has no steps.
std::optional<std::vector<std::string>> steps_below(const group_path& mounted, const group_path& group) {
  if (mounted.ups > group.ups && mounted.names.empty()) return std::vector<std::string>{};
  if (mounted.ups != group.ups || mounted.names.size() > group.names.size()) return std::nullopt;
  const auto [end, rest] = std::ranges::mismatch(mounted.names, group.names);
  if (end != mounted.names.end()) return std::nullopt;
  return std::vector<std::string>(rest, group.names.end());
}

std::vector<fs::path> directories_of(const fs::path& root, const mount& m,
                                     const std::vector<std::string>& steps) {
  auto directory = root / fs::path(m.point).relative_path();
  std::vector<fs::path> directories{directory};
  for (const auto& step : steps) directories.push_back(directory /= step);
  std::ranges::reverse(directories);
  return directories;
}

/// Returns whether the process sees a part of the tree as if it were all. The kernel gives the namespace of the whole tree
/// always the same number. Source: namespaces(7), include/linux/proc_ns.h.
bool is_namespaced(const fs::path& root) {
  std::error_code error;
  const fs::path name = fs::read_symlink(root / "proc/self/ns/cgroup", error);
  return !error && name != "cgroup:[4026531835]";
}

/// Among several mounts of one hierarchy, finds that which shows the group itself and most of its ancestors, else one that
/// shows ancestors; of equal ones the first. A mount whose root lies above the namespace shows no group that is known.
template <class Matches>
std::optional<controller_place> locate(const fs::path& root, const std::vector<mount>& mounts,
                                       const std::string& path, Matches matches) {
  std::optional<controller_place> best;
  std::tuple<bool, bool, std::size_t> best_shows;
  const auto group = parse_group_path(path);
  for (const auto& m : mounts) {
    if (!matches(m)) continue;
    const group_path mounted = parse_group_path(m.root);
    const auto steps = steps_below(mounted, group);
    if (!steps) continue;
    controller_place place{.v2 = m.type == "cgroup2", .directories = directories_of(root, m, *steps)};
    place.part_hidden = !mounted.names.empty() || is_namespaced(root);
    std::error_code error;
    const bool is_there = fs::is_directory(place.directories.front(), error);
    const std::tuple shows(mounted.ups <= group.ups, is_there, place.directories.size());
    if (best && shows <= best_shows) continue;
    best_shows = shows;
    best = std::move(place);
  }
  return best;
}

std::optional<cpu_set> first_cpus(const std::vector<fs::path>& directories, std::string_view file) {
  for (const auto& directory : directories) {
    const auto text = read_text(directory / file);
    if (!text) continue;
    auto cpus = cpu_set::parse(*text);
    if (cpus && !cpus->empty()) return cpus;
  }
  return std::nullopt;
}

/// "max 100000" or "50000 100000": microseconds of CPU time in each period.
std::optional<double> quota_v2(const fs::path& directory) {
  std::istringstream in(read_text(directory / "cpu.max").value_or(""));
  std::string quota;
  std::string period = "100000";
  in >> quota >> period;
  const auto q = parse_number(quota);
  const auto p = parse_number(period);
  if (!q || !p || *q == 0 || *p == 0) return std::nullopt;
  return static_cast<double>(*q) / static_cast<double>(*p);
}

/// A quota of -1 is none.
std::optional<double> quota_v1(const fs::path& directory) {
  const auto q = parse_number(read_text(directory / "cpu.cfs_quota_us").value_or(""));
  const auto p = parse_number(read_text(directory / "cpu.cfs_period_us").value_or(""));
  if (!q || !p || *q == 0 || *p == 0) return std::nullopt;
  return static_cast<double>(*q) / static_cast<double>(*p);
}

/// Adds what a line of cpu.stat says.
void count(cpu_throttling& in, const std::string& name, std::uint64_t value) {
  if (name == "nr_periods") in.periods += value;
  if (name == "nr_throttled") in.throttled_periods += value;
  if (name == "throttled_usec") in.throttled += std::chrono::microseconds{value};
  if (name == "throttled_time") in.throttled += std::chrono::nanoseconds{value};
}

/// The quota of a directory.
struct quota_place {
  double cpus = 0;
  fs::path directory;
};

std::optional<quota_place> tightest_quota(const controller_place& place) {
  std::optional<quota_place> tightest;
  for (const auto& directory : place.directories) {
    const auto quota = place.v2 ? quota_v2(directory) : quota_v1(directory);
    if (quota && (!tightest || *quota < tightest->cpus)) tightest = quota_place{*quota, directory};
  }
  return tightest;
}

} // namespace

std::optional<controller_place> find_controller(const fs::path& root, std::string_view controller) {
  const auto mounts = read_mounts(root);
  const auto memberships = read_memberships(root);
  for (const auto& m : memberships) {
    if (!lists(m.controllers, controller)) continue;
    if (auto place = locate(root, mounts, m.path, [&](const mount& candidate) {
          return candidate.type == "cgroup" && lists(candidate.options, controller);
        }))
      return place;
  }
  for (const auto& m : memberships) {
    if (!m.controllers.empty()) continue;
    if (auto place =
            locate(root, mounts, m.path, [](const mount& candidate) { return candidate.type == "cgroup2"; }))
      return place;
  }
  return std::nullopt;
}

std::optional<cpu_set> cgroup_cpus(const fs::path& root) {
  const auto place = find_controller(root, "cpuset");
  if (!place) return std::nullopt;
  if (place->v2) return first_cpus(place->directories, "cpuset.cpus.effective");
  if (auto cpus = first_cpus(place->directories, "cpuset.effective_cpus")) return cpus;
  return first_cpus(place->directories, "cpuset.cpus");
}

bool limits_may_be_hidden(const fs::path& root) {
  const auto memberships = read_memberships(root);
  const auto of = [&](std::string_view controller) {
    if (const auto place = find_controller(root, controller)) return place->part_hidden;
    // The process is in a group, and no mount shows which one.
    return is_namespaced(root) || std::ranges::any_of(memberships, [&](const membership& m) {
             return m.path != "/" && (m.controllers.empty() || lists(m.controllers, controller));
           });
  };
  return of("cpu") || of("cpuset");
}

std::optional<double> cgroup_quota(const fs::path& root) {
  const auto place = find_controller(root, "cpu");
  const auto tightest = place ? tightest_quota(*place) : std::nullopt;
  return tightest ? std::optional(tightest->cpus) : std::nullopt;
}

} // namespace corewise::detail

namespace corewise {

std::optional<cpu_throttling> read_cpu_throttling(const std::filesystem::path& root) {
  const auto place = detail::find_controller(root, "cpu");
  if (!place) return std::nullopt;
  cpu_throttling seen;
  const auto tightest = detail::tightest_quota(*place);
  if (!tightest) return seen;
  seen.quota_cpus = tightest->cpus;
  seen.group = tightest->directory;
  const auto text = detail::read_text(tightest->directory / "cpu.stat");
  if (!text) return std::nullopt;
  std::istringstream words(*text);
  std::string name;
  for (std::uint64_t value = 0; words >> name >> value;) detail::count(seen, name, value);
  return seen;
}

std::optional<std::uint64_t> read_thread_limit(const std::filesystem::path& root) {
  const auto place = detail::find_controller(root, "pids");
  std::optional<std::uint64_t> least;
  if (!place) return least;
  for (const auto& directory : place->directories)
    if (const auto most = detail::parse_number(detail::read_text(directory / "pids.max").value_or("")))
      least = std::min(least.value_or(*most), *most);
  return least;
}

} // namespace corewise
