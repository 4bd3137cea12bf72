#include "source_check.hpp"

#include "machine_size.hpp"
#include "xml_check.hpp"

#include <corewise/topology/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>

namespace corewise::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = std::size_t{64} << 20;
constexpr int newest_major = 2;

[[noreturn]] void refuse(const fs::path& file, std::string_view what) {
  throw topology_error(fmt::format("topology source xml: {}: {}", file.string(), what));
}

void check_is_file(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (!fs::exists(status)) refuse(file, error ? error.message() : "no such file");
  if (fs::is_directory(status)) refuse(file, "is a directory; an hwloc XML file is needed");
  if (!fs::is_regular_file(status)) refuse(file, "is not a regular file; an hwloc XML file is needed");
  if (fs::file_size(file, error) > largest_file || error)
    refuse(file, error ? error.message() : "is larger than 64 MiB, the most for a description of a machine");
}

std::string read_all(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be read; check its permissions");
  std::string text;
  for (char block[65536]; in.read(block, sizeof block) || in.gcount() > 0;) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file)
      refuse(file, "is larger than 64 MiB, the most for a description of a machine");
  }
  if (in.bad()) refuse(file, "cannot be read to its end");
  return text;
}

/// The text of `name="…"` in a tag.
std::optional<std::string_view> attribute(std::string_view tag, std::string_view name) {
  for (auto at = tag.find(name); at != std::string_view::npos; at = tag.find(name, at + 1)) {
    const auto value = at + name.size() + 2;
    if (tag.substr(at + name.size(), 2) != "=\"") continue;
    const auto end = tag.find('"', value);
    if (end != std::string_view::npos) return tag.substr(value, end - value);
  }
  return std::nullopt;
}

void check_format(const fs::path& file, std::string_view text) {
  if (text.empty())
    refuse(file, "is empty; an hwloc XML file is needed (lstopo writes one: lstopo FILE.xml)");
  if (text.find('\0') != std::string_view::npos) refuse(file, "contains NUL bytes, so it is not XML");
  const auto start = text.find("<topology");
  if (text.find_first_not_of(" \t\r\n") != text.find('<') || start == std::string_view::npos)
    refuse(file, "is not hwloc XML: there is no <topology> element (lstopo writes one: lstopo FILE.xml)");
  const auto version = attribute(text.substr(start, text.find('>', start) - start), "version");
  if (!version) return; // format 1, which hwloc converts
  int major = 0;
  std::from_chars(version->data(), version->data() + version->size(), major);
  if (major < 1 || major > newest_major)
    refuse(
        file,
        fmt::format("is in hwloc's XML format {}; formats 1 and 2 can be read (lstopo --export-xml-flags v2)",
                    *version));
}

/// Counts the objects of a synthetic description, level by level from outside in, until there are too many.
class synthetic_count {
 public:
  explicit synthetic_count(const std::string& text) : text_(text) {}

  /// Throws `topology_error` when the description has too many objects.
  void check() {
    bool square = false;
    bool round = false; // attributes
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '[' && !round) square = true;
      if (c == '(') round = true;
      if (c == ')' || c == ']') round = false; // for hwloc, too, brackets end at the first closing one
      if (c == ']') square = false;
      const char before = at == 0 ? ' ' : text_[at - 1];
      if (static_cast<unsigned char>(c) < ' ') refuse_control();
      if (round || !begins(before, c)) continue;
      if (c == '+' || c == '-' || (c == '0' && at + 1 < text_.size() && is_digit_or_x(text_[at + 1])))
        refuse_number(at);
      if (!square && is_digit(c))
        add_level(std::string_view(text_).substr(at));
      else if (before != ':' && (c == 'n' || c == 'N'))
        nodes_are_here_ = true;
      if (nodes_are_here_ && square) add_nodes();
    }
  }

 private:
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_digit_or_x(char c) { return c == 'x' || c == 'X' || is_digit(c); }
  /// Returns whether a number or a name may begin with `c`. hwloc needs no blank behind a number or a bracket.
  static bool begins(char before, char c) {
    return std::string_view(" []):").find(before) != std::string_view::npos ||
           (is_digit(before) && !is_digit(c));
  }
  /// hwloc would take these for blanks.
  [[noreturn]] void refuse_control() const {
    throw topology_error(fmt::format(
        "topology source synthetic: \"{}\" has a tab, an end of a line or another control character; a "
        "description is in one line, with blanks",
        text_));
  }
  /// hwloc would read a sign, and hexadecimal and octal numbers.
  [[noreturn]] void refuse_number(std::size_t at) const {
    throw topology_error(
        fmt::format("topology source synthetic: \"{}\" has the number {}; expected decimal numbers", text_,
                    text_.substr(at, text_.find_first_of(" ]", at) - at)));
  }
  [[noreturn]] void refuse(std::uint64_t most, std::string_view what) const {
    throw topology_error(
        fmt::format("topology source synthetic: \"{}\" has more than {} {}, the most that can be described",
                    text_, most, what));
  }

  void add_level(std::string_view number) {
    std::uint64_t factor = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), factor);
    if (parsed.ec != std::errc{} || factor > most_cpus || count_ * factor > most_cpus)
      refuse(most_cpus, "CPUs");
    if (factor > most_beside) refuse(most_beside, "objects beside each other");
    count_ *= std::max<std::uint64_t>(factor, 1);
    objects_ += count_;
    if (objects_ > most_objects) refuse(most_objects, "objects");
    if (nodes_are_here_) add_nodes();
  }

  /// Counts NUMA nodes: one for each object of the level so far.
  void add_nodes() {
    nodes_are_here_ = false;
    nodes_ += count_;
    if (nodes_ > most_nodes) refuse(most_nodes, "NUMA nodes");
  }

  const std::string& text_;
  std::uint64_t count_ = 1; ///< of objects of the level
  std::uint64_t objects_ = 1;
  std::uint64_t nodes_ = 0;
  bool nodes_are_here_ = false; ///< the level, or the word in brackets, is that of NUMA nodes
};

} // namespace

std::string read_hwloc_xml(const fs::path& file) {
  check_is_file(file);
  auto text = read_all(file);
  check_format(file, text);
  if (const auto fault = xml_fault(text)) refuse(file, *fault);
  return text;
}

void check_synthetic_size(const std::string& text) { synthetic_count(text).check(); }

} // namespace corewise::detail
