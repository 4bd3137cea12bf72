#include "source_file.hpp"

#include "quotation.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace corewise::detail {

void resolve_source(machine_source& source, const std::filesystem::path& folder, const std::string& prefix,
                    const std::map<std::string, text_position>& positions, issue_list& issues) {
  auto* xml = std::get_if<xml_source>(&source);
  const auto at = positions.find(prefix + "source.xml");
  if (!xml || at == positions.end()) return;
  xml->file = folder / xml->file;
  if (const std::string why = why_unreadable(xml->file); !why.empty())
    issues.add(at->second, at->first,
               "found " + quote(xml->file) + ", which cannot be read: " + why +
                   "; name a file of hwloc's XML");
}

std::string why_unreadable(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return std::generic_category().message(EISDIR);
  return ::access(file.c_str(), R_OK) == 0 ? "" : std::generic_category().message(errno);
}

} // namespace corewise::detail
