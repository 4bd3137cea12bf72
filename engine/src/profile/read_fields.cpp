#include "read_fields.hpp"

#include <algorithm>

namespace corewise::detail {

void add_contradictions(const std::vector<contradiction>& found,
                        const std::map<std::string, text_position>& positions, issue_list& issues) {
  const auto is_wrong = [&](const std::string& key) { return issues.concerns(key); };
  std::vector<const contradiction*> new_ones;
  for (const contradiction& c : found)
    if (std::ranges::none_of(c.keys, is_wrong)) new_ones.push_back(&c);
  for (const contradiction* c : new_ones) {
    // The field to blame may be a default; then the file contains the field that contradicts it.
    const auto written =
        std::ranges::find_if(c->keys, [&](const std::string& key) { return positions.contains(key); });
    const std::string& key = written == c->keys.end() ? c->keys.front() : *written;
    issues.add(written == c->keys.end() ? text_position{} : positions.at(key), key, c->message);
  }
}

} // namespace corewise::detail
