#include "load_state.hpp"

#include "json_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <initializer_list>
#include <limits>
#include <set>

namespace corewise::command {

namespace {

constexpr std::uint64_t load_most = 1'000'000'000;
/// More than any state has; nlohmann writes a value by recursion, so that a deep one would need a deep stack.
constexpr int levels_most = 32;

/// Finds equal keys. nlohmann takes the last of them; the command refuses a state that says two things. Refuses deep nesting
/// at once.
class duplicate_finder {
 public:
  bool see(int depth, json::parse_event_t event, const json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth == levels_most)
      throw state_error({fmt::format("more than {} levels of nesting; a state has 3", levels_most)});
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second)
      found.push_back(fmt::format("the key `{}` is there twice in one object", parsed.get<std::string>()));
    return true;
  }
  std::vector<std::string> found;

 private:
  std::vector<std::set<std::string>> open_;
};

json parse_json(std::string_view text) {
  duplicate_finder duplicates;
  try {
    json parsed = json::parse(text, [&](int depth, json::parse_event_t event, const json& at) {
      return duplicates.see(depth, event, at);
    });
    if (!duplicates.found.empty()) throw state_error(duplicates.found);
    return parsed;
  } catch (const json::exception& error) {
    const std::string_view what =
        error.what(); // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw state_error({"not JSON: " + std::string(what.substr(std::min(what.size(), what.find(']') + 2)))});
  }
}

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

class state_reader {
 public:
  explicit state_reader(const divided_machine& m) : m_(m) {}

  load_state read(const json& root) {
    load_state state;
    if (expect_object(root, "the state", {"origin", "hint", "load", "blocking", "task_time_ns", "seed"})) {
      with(root, "origin", [&](const json& v) { read_origin(v, state); });
      with(root, "hint", [&](const json& v) { read_hint(v, state.hint); });
      with(root, "load", [&](const json& v) { read_load(v, state); });
      with(root, "blocking", [&](const json& v) { read_blocking(v, state); });
      constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
      with(root, "task_time_ns", [&](const json& v) { state.task_time_ns = number(v, "task_time_ns", any); });
      with(root, "seed", [&](const json& v) { state.seed = number(v, "seed", any); });
    }
    if (!problems_.empty()) throw state_error(problems_);
    return state;
  }

 private:
  using names = std::initializer_list<std::string_view>;

  template <class F> static void with(const json& object, const char* key, F read) {
    if (const auto at = object.find(key); at != object.end() && !at->is_null()) read(*at);
  }

  void wrong(std::string_view path, const json& found, std::string_view right) {
    problems_.push_back(fmt::format("{}: found {}; expected {}", path, shown(found), right));
  }

  bool expect_object(const json& value, std::string_view path, names known) {
    if (!value.is_object()) return wrong(path, value, "an object"), false;
    for (const auto& [key, ignored] : value.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        problems_.push_back(
            fmt::format("{}: unknown key `{}`; the keys here are {}", path, key, fmt::join(known, ", ")));
    return true;
  }

  std::uint64_t number(const json& value, std::string_view path, std::uint64_t most) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return value.get<std::uint64_t>();
    wrong(path, value, fmt::format("a whole number from 0 to {}", most));
    return 0;
  }

  worker_id worker(const json& value, std::string_view path) {
    return {static_cast<std::uint32_t>(number(value, path, m_.workers.size() - 1))};
  }

  void read_origin(const json& value, load_state& state) {
    if (!expect_object(value, "origin", {"worker", "cpu", "outside"})) return;
    if (value.size() != 1)
      return wrong("origin", value, "one of {\"worker\": N}, {\"cpu\": N}, {\"outside\": true}");
    with(value, "worker", [&](const json& v) { state.origin.worker = worker(v, "origin.worker"); });
    with(value, "cpu", [&](const json& v) { state.origin.cpu = read_cpu(v); });
    with(value, "outside", [&](const json& v) {
      if (v != json(true)) wrong("origin.outside", v, "true");
    });
  }

  std::uint32_t read_cpu(const json& value) {
    const auto cpu = static_cast<std::uint32_t>(number(value, "origin.cpu", cpu_set::largest));
    if (!m_.groups.group_of_cpu(cpu))
      wrong("origin.cpu", value, "one of the CPUs " + m_.machine.cpus().to_string());
    return cpu;
  }

  void read_hint(const json& value, placement_hint& hint) {
    if (!expect_object(value, "hint", {"group", "package", "node", "worker", "kind"})) return;
    const topology& t = m_.machine;
    with(value, "group", [&](const json& v) {
      hint.group = group_id{static_cast<std::uint32_t>(number(v, "hint.group", m_.groups.size() - 1))};
    });
    with(value, "worker", [&](const json& v) { hint.worker = worker(v, "hint.worker"); });
    with(value, "package", [&](const json& v) {
      hint.package =
          index_of(v, "hint.package", t.packages(), [](const package& p) { return json_id(p.id); });
    });
    with(value, "node", [&](const json& v) {
      hint.node = index_of(v, "hint.node", t.nodes(), [](const numa_node& n) { return json(n.os_index); });
    });
    with(value, "kind", [&](const json& v) {
      hint.kind = index_of(v, "hint.kind", t.kinds(), [](const core_kind& k) { return json(k.name); });
    });
  }

  static json json_id(const std::optional<std::uint32_t>& id) { return id ? json(*id) : json(nullptr); }

  /// Finds the index, in a list of the topology, of the entry that the state names.
  template <class List, class Name>
  std::uint32_t index_of(const json& value, std::string_view path, const List& list, Name name) {
    std::vector<std::string> known;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const json candidate = name(list[i]);
      if (candidate == value && candidate.type() == value.type()) return i;
      if (!candidate.is_null()) known.push_back(shown(candidate));
    }
    wrong(path, value,
          known.empty() ? "no such key: this machine has none"
                        : fmt::format("one of {}", fmt::join(known, ", ")));
    return 0;
  }

  void read_load(const json& value, load_state& state) {
    if (!value.is_object()) return wrong("load", value, "an object from worker to load, {\"0\": 2}");
    for (const auto& [key, load] : value.items()) {
      const std::string path = fmt::format("load.{}", key);
      const auto named = worker_named(key);
      if (!named)
        problems_.push_back(
            fmt::format("{}: no such worker; workers are \"0\" to \"{}\"", path, m_.workers.size() - 1));
      const auto n = static_cast<std::uint32_t>(number(load, path, load_most));
      if (named) state.load[*named] = n;
    }
  }

  std::optional<worker_id> worker_named(const std::string& key) const {
    std::uint32_t n = 0;
    const char* end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, n);
    const bool canonical = error == std::errc{} && stop == end && fmt::to_string(n) == key;
    if (!canonical || n >= m_.workers.size()) return std::nullopt;
    return worker_id{n};
  }

  void read_blocking(const json& value, load_state& state) {
    if (!value.is_array()) return wrong("blocking", value, "a list of workers, [4]");
    for (const json& one : value) state.blocking.push_back(worker(one, "blocking"));
  }

  const divided_machine& m_;
  std::vector<std::string> problems_;
};

} // namespace

state_error::state_error(std::vector<std::string> problems)
    : std::runtime_error(fmt::format("{}", fmt::join(problems, "\n"))),
      problems_(std::move(problems)) {}

load_state parse_state(std::string_view text, const divided_machine& m) {
  return state_reader(m).read(parse_json(text));
}

} // namespace corewise::command
