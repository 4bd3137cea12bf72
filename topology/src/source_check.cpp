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

/// Counts the objects of a synthetic description, level by level from outside in, until there are too many. It goes
/// along the text as hwloc does: a name ends at the next colon, and brackets at the first closing one.
class synthetic_count {
 public:
  explicit synthetic_count(const std::string& text) : text_(text) {}

  /// Throws `topology_error` when the description has too many objects.
  void check() {
    if (std::ranges::any_of(text_, [](unsigned char c) { return c < ' '; })) refuse_control();
    skip_attributes(); // of the machine
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      if (text_[at_] == '[') {
        skip_attached();
        continue;
      }
      const bool named = !is_digit(text_[at_]);
      const bool nodes = named && is_n(at_);
      if (text_[at_] == '+' || text_[at_] == '-') refuse_number(at_);
      if (named) at_ = end_of(':');
      skip_blanks();
      if (at_ == text_.size()) return; // no number, so hwloc refuses it
      if (!is_plain_number()) refuse_number(at_);
      add_level(std::string_view(text_).substr(at_));
      if (nodes) add_nodes();
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      skip_attributes();
    }
  }

 private:
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  bool is_n(std::size_t at) const { return at < text_.size() && (text_[at] == 'n' || text_[at] == 'N'); }
  /// hwloc would read a sign, and hexadecimal and octal numbers.
  bool is_plain_number() const {
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    return text_[at_] == '0' ? next != 'x' && next != 'X' && !is_digit(next)
                             : text_[at_] != '+' && text_[at_] != '-';
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }
  /// Returns the place behind the next such character, or the end.
  std::size_t end_of(char c) const {
    const std::size_t found = text_.find(c, at_);
    return found == std::string::npos ? text_.size() : found + 1;
  }
  void skip_attributes() {
    if (at_ < text_.size() && text_[at_] == '(') at_ = end_of(')');
  }
  /// Skips what is attached to each object of the level so far: `[NUMANode]`.
  void skip_attached() {
    if (is_n(at_ + 1)) add_nodes();
    at_ = end_of(']');
  }
  /// hwloc would take these for blanks.
  [[noreturn]] void refuse_control() const {
    throw topology_error(fmt::format(
        "topology source synthetic: \"{}\" has a tab, an end of a line or another control character; a "
        "description is in one line, with blanks",
        text_));
  }
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
  }

  /// Counts NUMA nodes: one for each object of the level so far.
  void add_nodes() {
    nodes_ += count_;
    if (nodes_ > most_nodes) refuse(most_nodes, "NUMA nodes");
  }

  const std::string& text_;
  std::uint64_t count_ = 1; ///< of objects of the level
  std::uint64_t objects_ = 1;
  std::uint64_t nodes_ = 0;
  std::size_t at_ = 0;
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
