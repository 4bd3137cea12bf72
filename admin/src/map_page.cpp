#include "map_page.hpp"

#include "map_assets.hpp"

#include <fmt/format.h>

namespace corewise::admin {

namespace {

/// Returns the asset with parts in the places of its marks.
std::string page_of(const std::string& policy, const std::string& recording) {
  std::string page(assets::html);
  const auto put = [&page](std::string_view mark, std::string_view part) {
    page.replace(page.find(mark), mark.size(), part);
  };
  put("@script@", assets::js); // the last one first: it may hold what looks like a mark
  put("@recording@", recording);
  put("@style@", assets::css);
  put("@policy@", policy);
  return page;
}

std::string policy_with(std::string_view connections) {
  return fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; connect-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      assets::js_hash, assets::css_hash, connections);
}

/// Writes JSON so that no text in it ends the element of the page that holds it.
void append_inert(std::string& to, std::string_view json) {
  for (const char c : json)
    if (c == '<')
      to += "\\u003c";
    else
      to += c;
}

} // namespace

map_page live_map() {
  const std::string policy = policy_with("'self'");
  return {page_of(policy, ""), policy + "; frame-ancestors 'none'"};
}

map_page recorded_map(std::string_view machine, const std::vector<std::string>& moments) {
  const std::string policy = policy_with("'none'");
  std::string recording = R"(<script type="application/json" id="recording">{"machine":)";
  append_inert(recording, machine);
  recording += ",\"moments\":[";
  for (const std::string& moment : moments) {
    if (&moment != moments.data()) recording += ",\n";
    append_inert(recording, moment);
  }
  recording += "]}</script>\n";
  return {page_of(policy, recording), policy};
}

} // namespace corewise::admin
