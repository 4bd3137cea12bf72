#include "xml_check.hpp"

#include "machine_size.hpp"

#include <corewise/topology/cpu_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>
#include <vector>

namespace corewise::detail {
namespace {

constexpr std::size_t deepest_nesting = 200;  // real machines have about 20 levels
constexpr std::size_t longest_set = 32 << 10; // characters; 65,536 CPUs need 22,528

struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using attributes = std::map<std::string_view, std::string_view>;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == ':';
}

bool is_set(std::string_view text) {
  return !text.empty() && text.size() <= longest_set && std::ranges::all_of(text, [](char c) {
    return c == 'x' || c == ',' || std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

bool is_small_number(std::string_view text) {
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && value <= cpu_set::largest;
}

/// Returns whether the type is a device's. Devices lie beside the CPUs and need no sets.
bool is_device(std::string_view type) {
  constexpr std::array devices{"Misc", "Bridge", "PCIDev", "OSDev"};
  return std::ranges::find(devices, type) != devices.end();
}

std::string_view value_of(const attributes& all, std::string_view name) {
  const auto at = all.find(name);
  return at == all.end() ? std::string_view() : at->second;
}

/// Reads tags from left to right.
class tag_reader {
 public:
  explicit tag_reader(std::string_view text) : text_(text) {}

  void read() {
    while (true) {
      at_ = text_.find('<', at_);
      if (at_ == std::string_view::npos) break;
      const auto rest = text_.substr(at_);
      if (rest.starts_with("<!--"))
        skip_past("-->");
      else if (rest.starts_with("<?"))
        skip_past("?>");
      else if (rest.starts_with("<!"))
        skip_past(">");
      else if (rest.starts_with("</"))
        read_closing();
      else
        read_opening();
    }
    if (!open_.empty()) fail(fmt::format("<{}> is not closed", open_.back()));
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    const auto line =
        1 + std::count(text_.begin(),
                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
    throw fault(fmt::format("is damaged: line {}: {}", line, what));
  }

  void count(std::string_view type) {
    const auto add = [](std::uint64_t& number, std::uint64_t most, const char* what) {
      if (++number > most)
        throw fault(fmt::format("has more than {} {}, the most that can be described", most, what));
    };
    if (type == "PU") add(cpus_, most_cpus, "CPUs");
    if (type == "NUMANode") add(nodes_, most_nodes, "NUMA nodes");
    add(objects_, most_objects, "objects");
  }

  void skip_past(std::string_view end) {
    const auto found = text_.find(end, at_);
    if (found == std::string_view::npos) fail(fmt::format("{} is missing", end));
    at_ = found + end.size();
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  void expect(std::string_view what) {
    if (!text_.substr(std::min(at_, text_.size())).starts_with(what))
      fail(fmt::format("a tag is damaged: {} is missing", what));
    at_ += what.size();
  }

  std::string_view name() {
    const auto start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == start) fail("a tag is damaged: a name is missing");
    return text_.substr(start, at_ - start);
  }

  void read_closing() {
    at_ += 2;
    const auto closed = name();
    skip_blanks();
    expect(">");
    if (open_.empty() || open_.back() != closed) fail(fmt::format("</{}> closes no element", closed));
    open_.pop_back();
  }

  void read_opening() {
    at_ += 1;
    const auto opened = name();
    const auto all = read_attributes();
    if (opened == "topology") has_version_ = all.contains("version");
    if (opened == "object") check_object(all);
    if (text_.substr(at_).starts_with("/>")) {
      at_ += 2;
      return;
    }
    expect(">");
    open_.push_back(opened);
    if (open_.size() > deepest_nesting)
      fail(fmt::format("elements are nested more than {} deep, the most for a machine", deepest_nesting));
  }

  attributes read_attributes() {
    attributes all;
    while (at_ < text_.size()) {
      const auto before = at_;
      skip_blanks();
      if (at_ == before || at_ >= text_.size() || text_[at_] == '>' || text_[at_] == '/') break;
      const auto key = name();
      expect("=\"");
      const auto end = text_.find_first_of("\"<", at_);
      if (end == std::string_view::npos || text_[end] == '<')
        fail(fmt::format("{} has no closing quotation mark", key));
      if (!all.emplace(key, text_.substr(at_, end - at_)).second) fail(fmt::format("{} is there twice", key));
      at_ = end + 1;
    }
    return all;
  }

  void check_object(const attributes& all) {
    const auto type = value_of(all, "type");
    count(type);
    if (objects_ == 1 && type != "Machine" && type != "System")
      fail("the first object is not of the type \"Machine\"");
    if (is_device(type)) return;
    for (const auto* set : {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"})
      if ((all.contains(set) || is_needed(set)) && !is_set(value_of(all, set)))
        fail(fmt::format("an object of type \"{}\" has no proper {}", type, set));
    for (const auto* set : {"allowed_cpuset", "allowed_nodeset"})
      if (all.contains(set) && !is_set(value_of(all, set)))
        fail(fmt::format("an object of type \"{}\" has no proper {}", type, set));
    if (all.contains("nodeset") != all.contains("complete_nodeset"))
      fail(fmt::format("an object of type \"{}\" has one nodeset of two", type));
    if ((type == "PU" || type == "NUMANode") && !is_small_number(value_of(all, "os_index")))
      fail(fmt::format("a {} has the os_index \"{}\"; a number from 0 to {} is needed", type,
                       value_of(all, "os_index"), cpu_set::largest));
  }

  /// Returns whether an object needs this set. Format 1 has no version, and no node sets on machines with one
  /// node.
  bool is_needed(std::string_view set) const { return has_version_ || set.ends_with("cpuset"); }

  std::string_view text_;
  std::size_t at_ = 0;
  bool has_version_ = false;
  std::uint64_t cpus_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t objects_ = 0;
  std::vector<std::string_view> open_;
};

} // namespace

std::optional<std::string> xml_fault(std::string_view text) {
  try {
    tag_reader(text).read();
  } catch (const fault& found) {
    return found.what();
  }
  return std::nullopt;
}

} // namespace corewise::detail
