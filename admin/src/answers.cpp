#include "answers.hpp"

#include "map_page.hpp"
#include "query.hpp"

#include <corewise/engine/apply_result.hpp>
#include <corewise/engine/dump.hpp>
#include <corewise/engine/health.hpp>
#include <corewise/engine/live_figures.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile_text.hpp>

#include <boost/beast/http/verb.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <exception>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

namespace corewise::admin {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_trial = 24h;

response no_such_engine(const served& engines) {
  return text_answer(http::status::bad_request, engines.advice());
}

std::string_view text(boost::beast::string_view v) { return {v.data(), v.size()}; }

/// Reads "60s", "5m" or "1h".
std::optional<std::chrono::seconds> duration(std::string_view from) {
  std::uint32_t number = 0;
  const char* const end = from.data() + from.size();
  const auto [unit, why] = std::from_chars(end - from.size(), end, number);
  if (why != std::errc() || end - unit != 1) return std::nullopt;
  std::chrono::seconds time{number};
  if (*unit == 'm') time = std::chrono::minutes{number};
  if (*unit == 'h') time = std::chrono::hours{number};
  if (std::string_view("smh").find(*unit) == std::string_view::npos || time == 0s || time > longest_trial)
    return std::nullopt;
  return time;
}

/// Returns whether a text of YAML has nothing but comments, directives, marks of documents, and null. Taken as a profile it
/// would set all defaults, which is not what was meant.
bool says_nothing(std::string_view yaml) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (yaml.starts_with(byte_order_mark)) yaml.remove_prefix(byte_order_mark.size());
  constexpr std::array<std::string_view, 6> nothing{"---", "...", "~", "null", "Null", "NULL"};
  while (!yaml.empty()) {
    std::string_view line = yaml.substr(0, yaml.find('\n'));
    yaml.remove_prefix(std::min(yaml.size(), line.size() + 1));
    if (line.starts_with('%')) continue; // a directive
    while (!line.empty() && line.front() != '#') {
      const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
      line.remove_prefix(std::min(line.size(), word.size() + 1));
      if (!word.empty() && std::ranges::find(nothing, word) == nothing.end()) return false;
    }
  }
  return true;
}

/// Returns how much a client wants a type, from 0 to 1, where its `Accept` names it; else 0. Source: RFC 9110, 12.5.1.
double quality(const request& asked, std::string_view type) {
  double most = 0;
  std::string_view rest = text(asked[http::field::accept]);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (!item.substr(std::min(item.find_first_not_of(' '), item.size())).starts_with(type)) continue;
    double q = 1;
    if (const auto at = item.find("q="); at != std::string_view::npos)
      std::from_chars(item.data() + at + 2, item.data() + item.size(), q);
    most = std::max(most, q);
  }
  return most;
}

/// Returns whether a client wants a type, and plain text no more than that.
bool accepts(const request& asked, std::string_view type) {
  const double wanted = quality(asked, type);
  return wanted > 0 && wanted >= quality(asked, "text/plain");
}

response metrics(const request& asked, std::string_view query, const served& engines) {
  auto detail = metrics_detail::automatic;
  if (const auto wanted = parameter(query, "detail")) {
    if (*wanted == "sums")
      detail = metrics_detail::sums;
    else if (*wanted == "groups")
      detail = metrics_detail::groups;
    else if (*wanted == "workers")
      detail = metrics_detail::workers;
    else
      return text_answer(http::status::bad_request, "detail is sums, groups or workers\n");
  }
  const std::vector<std::size_t> which = engines.meant_by(query);
  if (which.empty()) return no_such_engine(engines);
  std::vector<metrics_snapshot> now;
  for (const std::size_t i : which) {
    now.push_back(engines[i].metrics());
    now.back().engine = engines.label(i);
  }
  if (accepts(asked, "application/json"))
    return text_answer(http::status::ok, now.size() == 1 ? now.front().to_json(detail) : to_json(now, detail),
                       "application/json");
  return accepts(asked, "application/openmetrics-text")
             ? text_answer(http::status::ok, to_openmetrics(now, detail),
                           "application/openmetrics-text; version=1.0.0; charset=utf-8")
             : text_answer(http::status::ok, to_prometheus(now, detail),
                           "text/plain; version=0.0.4; charset=utf-8");
}

/// `live`: whether the process should go on; else whether it should get requests. `control`: peers may be named.
response health(const served& engines, std::string_view query, bool live, bool draining, bool control) {
  const std::vector<std::size_t> which = engines.meant_by(query);
  if (which.empty()) return no_such_engine(engines);
  health_report all;
  bool wedged = false;
  for (const std::size_t i : which) {
    const health_report report = engines[i].health();
    all.state = std::max(all.state, report.state);
    wedged = wedged || report.state == health_state::wedged;
    for (const std::string& why : report.why)
      all.why.push_back(engines.several() ? fmt::format("{}: {}", engines.label(i), why) : why);
    std::ranges::copy(report.socket_waits, std::back_inserter(all.socket_waits));
  }
  std::string body = fmt::format("{}\n", to_string(all.state));
  for (const std::string& why : all.why) body += why + "\n";
  if (control)
    for (const socket_wait& wait : all.socket_waits)
      body += fmt::format("no worker of group {} serves sockets: {}\n", wait.group.value, to_text(wait));
  if (draining) body += "the server drains, and is about to end\n";
  const bool well = live ? !wedged : all.ok() && !draining;
  return text_answer(well ? http::status::ok : http::status::service_unavailable, std::move(body));
}

response dump(const request& asked, std::string_view query, const served& engines) {
  const std::vector<std::size_t> which = engines.meant_by(query);
  const bool json = accepts(asked, "application/json");
  if (which.empty() || (json && which.size() != 1)) return no_such_engine(engines);
  if (json) return text_answer(http::status::ok, engines[which.front()].dump().to_json(), "application/json");
  std::string text;
  for (const std::size_t i : which) {
    if (which.size() > 1) text += fmt::format("{}engine {}\n", i == 0 ? "" : "\n", engines.label(i));
    text += engines[i].dump().to_text();
  }
  return text_answer(http::status::ok, std::move(text));
}

/// Returns the map's data of the engine at this moment.
response live(const engine& e) {
  const live_figures now{std::chrono::steady_clock::now().time_since_epoch(), e.metrics(), e.health().why,
                         read_node_usage()};
  return text_answer(http::status::ok, now.to_json(), "application/json");
}

constexpr std::array<std::string_view, 6> read_only_paths{"/metrics",      "/load",     "/health/live",
                                                          "/health/ready", "/topology", "/live"};
constexpr std::array<std::string_view, 3> control_paths{"/dump", "/profile", "/trace"};

bool is_answered(std::string_view path, bool control) {
  return path == "/" || std::ranges::find(read_only_paths, path) != read_only_paths.end() ||
         (control && std::ranges::find(control_paths, path) != control_paths.end());
}

/// Returns the profile of all engines, with a comment for each one that has another; where there is one engine, what holds.
std::string common_profile_text(const served& engines) {
  const profile common = engines.common_profile();
  if (!engines.several()) return profile_text(engines.as_common(0, common));
  std::string remarks;
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (settings_text(engines.as_common(i, common)) != settings_text(common))
      remarks +=
          fmt::format("# {} has another profile: ?engine={}\n", engines.label(i), encoded(engines.label(i)));
  return remarks + profile_text(common);
}

/// Returns a text as it stands in a page.
std::string as_html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    case '"': out += "&quot;"; break;
    default: out += c;
    }
  return out;
}

/// Returns a page of links to the maps of several engines.
std::string list_of_maps(const served& engines) {
  std::string page = "<!doctype html><title>corewise</title><h1>Engines</h1><ul>";
  for (std::size_t i = 0; i < engines.size(); ++i)
    page += fmt::format("<li><a href=\"/?engine={}\">{}</a>", encoded(engines.label(i)),
                        as_html(engines.label(i)));
  return page + "</ul>\n";
}

/// Returns the map for browsers, and for others what there is.
response entrance(const request& asked, std::string_view query, const served& engines, bool control) {
  if (!accepts(asked, "text/html")) {
    std::string list = fmt::format("{}\n", fmt::join(read_only_paths, "\n"));
    if (control) list += fmt::format("{}\n", fmt::join(control_paths, "\n"));
    return text_answer(http::status::ok, list + (engines.several() ? engines.advice() : ""));
  }
  if (!engines.chosen_by(query)) {
    if (engines.names_one(query)) return no_such_engine(engines);
    return text_answer(http::status::ok, list_of_maps(engines), "text/html; charset=utf-8");
  }
  map_page map = live_map();
  response res = text_answer(http::status::ok, std::move(map.html), "text/html; charset=utf-8");
  res.set("Content-Security-Policy", map.policy);
  return res;
}

} // namespace

response text_answer(http::status status, std::string body, const char* type) {
  response res(status, 11);
  res.set(http::field::content_type, type);
  res.body() = std::move(body);
  return res;
}

bool asks_for_us(const request& asked, std::string_view address, const std::vector<std::string>& hosts) {
  std::string_view host = text(asked[http::field::host]);
  const std::string origin = fmt::format("http://{}", host);
  if (asked.count(http::field::origin) != 0 && text(asked[http::field::origin]) != origin) return false;
  if (host.empty()) return true; // no browser leaves it out
  if (const auto colon = host.rfind(':'); colon != std::string_view::npos &&
                                          host.find(']', colon) == std::string_view::npos &&
                                          (host.front() == '[' || host.find(':') == colon))
    host = host.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.ends_with('.')) host.remove_suffix(1); // the root of names
  constexpr auto lower = [](unsigned char c) { return std::tolower(c); };
  const auto is = [&](std::string_view name) { return std::ranges::equal(host, name, {}, lower, lower); };
  return is(address) || is("localhost") || std::ranges::any_of(hosts, is);
}

response answers::to(const request& asked, const caller& from) {
  const auto [path, query] = split_target(text(asked.target()));
  const bool reads = asked.method() == http::verb::get || asked.method() == http::verb::head;
  if (from.control && path == "/profile" && asked.method() == http::verb::put) {
    if (from.may_change) return change_profile(asked, query, from);
    log(fmt::format("{}: refused a profile: changes by TCP are off", from.name));
    return text_answer(http::status::forbidden, "changes by TCP are off (admin::options::changes_by_tcp)\n");
  }

  if (!is_answered(path, from.control))
    return text_answer(http::status::not_found,
                       from.control
                           ? "not found; / lists what there is\n"
                           : "not found; / lists what there is here, and the control socket has more\n");
  if (path == "/trace") { // to a GET the server itself answers, later
    response res = text_answer(http::status::method_not_allowed, "only GET is answered here\n");
    res.set(http::field::allow, "GET");
    return res;
  }
  if (!reads) {
    response res = text_answer(http::status::method_not_allowed, "only GET and HEAD are answered here\n");
    res.set(http::field::allow, path == "/profile" ? "GET, HEAD, PUT" : "GET, HEAD");
    return res;
  }
  if (path.starts_with("/health/"))
    return show(asked, path, query, from.control); // 400 would tell probes that it is dead
  const std::string request = fmt::format("GET {}", path);
  const std::string why = path == "/metrics" ? why_refused(query, request, {"engine=NAME", "detail=sums"})
                                             : why_refused(query, request, {"engine=NAME"});
  return why.empty() ? show(asked, path, query, from.control) : text_answer(http::status::bad_request, why);
}

response answers::show(const request& asked, std::string_view path, std::string_view query, bool control) {
  if (path == "/") return entrance(asked, query, engines_, control);
  if (path == "/metrics") return metrics(asked, query, engines_);
  if (path == "/health/live" || path == "/health/ready")
    return health(engines_, query, path == "/health/live", draining_, control);
  if (path == "/load") return show_load(asked, query);
  if (path == "/dump") return dump(asked, query, engines_);
  if (path == "/profile") return show_profile(query);
  const std::optional<std::size_t> one = engines_.chosen_by(query);
  if (!one) return no_such_engine(engines_);
  return path == "/live" ? live(engines_[*one])
                         : text_answer(http::status::ok, machines_[*one], "application/json");
}

response answers::show_profile(std::string_view query) const {
  if (!served::names_one(query) && engines_.has_common_profile())
    return text_answer(http::status::ok, common_profile_text(engines_), "application/yaml");
  const std::optional<std::size_t> which = engines_.chosen_by(query);
  if (!which) return no_such_engine(engines_);
  return text_answer(http::status::ok, profile_text(engines_[*which].configuration()), "application/yaml");
}

load_report answers::load(const std::vector<std::size_t>& of) {
  std::vector<load_report> each;
  for (const std::size_t i : of) each.push_back(meters_[i].read());
  load_report now = sum_of(each);
  now.draining = draining_;
  return now;
}

response answers::show_load(const request& asked, std::string_view query) {
  const std::vector<std::size_t> which = engines_.meant_by(query);
  if (which.empty()) return no_such_engine(engines_);
  const load_report now = load(which);
  return accepts(asked, "application/json") ? text_answer(http::status::ok, now.to_json(), "application/json")
                                            : text_answer(http::status::ok, now.to_text());
}

/// Has the program set what it sets itself. Returns why it refuses the profile, or nothing.
std::string answers::prepare(profile& wanted) const {
  if (!before_apply_) return {};
  try {
    before_apply_(wanted);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return fmt::format("the program refuses this profile: {}", error.what());
  }
  return {};
}

response answers::change_profile(const request& asked, std::string_view query, const caller& from) {
  if (std::string why = why_refused(query, "PUT /profile", {"engine=NAME", "revert_after=60s"}); !why.empty())
    return text_answer(http::status::bad_request, std::move(why));
  std::optional<std::chrono::seconds> trial;
  if (const auto wanted = parameter(query, "revert_after")) {
    trial = duration(*wanted);
    if (!trial)
      return text_answer(http::status::bad_request, "revert_after is a time as 60s, 5m or 1h, up to 24h\n");
  }
  if (says_nothing(asked.body()))
    return text_answer(http::status::bad_request,
                       "there is no profile in the request; {} is one with all defaults\n");
  std::optional<std::size_t> which;
  if (served::names_one(query) || !engines_.has_common_profile()) {
    which = engines_.chosen_by(query);
    if (!which) return no_such_engine(engines_);
  }
  const std::string of = which && engines_.several() ? " of " + engines_.label(*which) : "";
  const auto refused = [&](const std::string& why) {
    log(fmt::format("{}: refused a profile{}: {}", from.name, of, why.substr(0, why.find('\n'))));
    return text_answer(http::status::unprocessable_entity, why.ends_with('\n') ? why : why + '\n');
  };
  std::optional<std::chrono::steady_clock::time_point> until;
  if (trial) until = std::chrono::steady_clock::now() + *trial;
  try {
    profile wanted = parse_profile(asked.body(), "request");
    if (const std::string why = prepare(wanted); !why.empty()) return refused(why);
    const apply_result result = trials_.change(which, wanted, until);
    if (!result.applied()) return refused(result.to_text());
  } catch (const profile_error& error) {
    return refused(error.what());
  }
  const std::string how_long =
      trial ? fmt::format(" for {} s, unless another one comes", trial->count()) : "";
  log(fmt::format("{}: changed the profile{}{}", from.name, of, how_long));
  return text_answer(http::status::ok, fmt::format("applied{}\n", how_long));
}

} // namespace corewise::admin
