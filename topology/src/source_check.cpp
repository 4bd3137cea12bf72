#include "source_check.hpp"

#include "xml_check.hpp"

#include <corewise/topology/cpu_set.hpp>
#include <corewise/topology/error.hpp>

#include <fmt/format.h>

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

/// A synthetic description without the parts in brackets.
std::string without_attributes(const std::string& text) {
  std::string plain;
  int depth = 0;
  for (const auto c : text) {
    if (c == '(' || c == '[') ++depth;
    if (depth == 0) plain += c;
    if ((c == ')' || c == ']') && depth > 0) --depth;
  }
  return plain;
}

} // namespace

std::string read_hwloc_xml(const fs::path& file) {
  check_is_file(file);
  auto text = read_all(file);
  check_format(file, text);
  if (const auto fault = xml_fault(text)) refuse(file, fmt::format("is damaged: {}", *fault));
  return text;
}

void check_synthetic_size(const std::string& text) {
  constexpr std::uint64_t most = cpu_set::largest + std::uint64_t{1};
  std::uint64_t count = 1;
  const auto plain = without_attributes(text);
  const auto* const end = plain.data() + plain.size();
  for (const auto* at = plain.data(); at != end; ++at) {
    const bool starts_number = at == plain.data() || at[-1] == ':' || at[-1] == ' ';
    if (!starts_number || std::isdigit(static_cast<unsigned char>(*at)) == 0) continue;
    std::uint64_t factor = 0;
    const auto parsed = std::from_chars(at, end, factor);
    const bool countable = parsed.ec == std::errc{} && factor <= most;
    if (countable) count *= std::max<std::uint64_t>(factor, 1);
    if (!countable || count > most)
      throw topology_error(fmt::format(
          "topology source synthetic: \"{}\" has more than {} CPUs, the most that can be described", text,
          most));
  }
}

} // namespace corewise::detail
