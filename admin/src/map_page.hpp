#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corewise::admin {

/// A page of HTML, and the Content-Security-Policy under which its script and its style are used.
struct map_page {
  std::string html;
  std::string policy;
};

/// Returns the page of the live map, which asks the server that it comes from.
map_page live_map();

/// Returns a page that asks no server and plays what it holds: a machine (`machine_json`), and figures of
/// moments one after another (`live_figures::to_json`).
map_page recorded_map(std::string_view machine, const std::vector<std::string>& moments);

} // namespace corewise::admin
