#include "read_fields.hpp"

#include <algorithm>

namespace corewise::detail {

void add_contradictions(const std::vector<contradiction>& found,
                        const std::map<std::string, text_position>& places, issue_list& issues) {
  const auto is_wrong = [&](const std::string& key) { return issues.concerns(key); };
  std::vector<const contradiction*> new_ones;
  for (const contradiction& c : found)
    if (std::ranges::none_of(c.keys, is_wrong)) new_ones.push_back(&c);
  for (const contradiction* c : new_ones) {
    // The field to blame may be a default; then the file contains the field that contradicts it.
    const auto written =
        std::ranges::find_if(c->keys, [&](const std::string& key) { return places.contains(key); });
    const std::string& key = written == c->keys.end() ? c->keys.front() : *written;
    issues.add(written == c->keys.end() ? text_position{} : places.at(key), key, c->message);
  }
}

} // namespace corewise::detail
