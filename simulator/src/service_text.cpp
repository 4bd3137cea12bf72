#include "service_text.hpp"

#include "words.hpp"

#include <fmt/format.h>

#include <array>

namespace corewise {

namespace {

using namespace simulated_words;
using kind = service_time::kind;

struct shape_words {
  kind shape;
  std::string_view name;
  std::size_t parts; ///< after the name
  std::string_view right;
};

constexpr double longest_ns = 3600e9;
constexpr std::array<shape_words, 5> shapes{{
    {kind::fixed, "fixed", 1, "fixed:TIME, such as fixed:10us"},
    {kind::exponential, "exp", 1, "exp:MEAN, such as exp:10us"},
    {kind::lognormal, "lognormal", 2,
     "lognormal:MEAN:RATIO, such as lognormal:10us:2, the deviation / mean above 0 and at most 100"},
    {kind::bimodal, "bimodal", 3,
     "bimodal:TIME:TIME:SHARE, such as bimodal:10us:1ms:.005, the second one's share from 0 to 1"},
    {kind::pareto, "pareto", 2,
     "pareto:MEAN:EXPONENT, such as pareto:10us:1.5, the exponent above 1 and at most 100"},
}};
constexpr std::array<std::string_view, 5> names{"fixed", "exp", "lognormal", "bimodal", "pareto"};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(':');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool read_time(double& ns, std::string_view text, bool may_be_zero) {
  const std::optional<double> duration = read_duration(text);
  if (!duration || *duration > longest_ns || (*duration < 1 && !(may_be_zero && *duration == 0)))
    return false;
  ns = *duration;
  return true;
}

/// Reads a number above `low` (or `low` itself, with `low_too`) and at most `high`. Returns whether the text
/// is one.
bool read_ratio(double& ratio, std::string_view text, double low, bool low_too, double high) {
  const std::optional<double> number = read_number(text);
  if (!number || *number > high || *number < low || (*number == low && !low_too)) return false;
  ratio = *number;
  return true;
}

bool read_parts(service_time& s, const std::vector<std::string_view>& parts, bool may_be_zero) {
  const bool zero = may_be_zero && s.shape == kind::fixed;
  if (!read_time(s.mean_ns, parts[1], zero)) return false;
  switch (s.shape) {
  case kind::fixed:
  case kind::exponential: break;
  case kind::lognormal: return read_ratio(s.deviation, parts[2], 0, false, 100);
  case kind::bimodal:
    return read_time(s.rare_ns, parts[2], false) && read_ratio(s.rare_share, parts[3], 0, true, 1);
  case kind::pareto: return read_ratio(s.exponent, parts[2], 1, false, 100);
  }
  return true;
}

} // namespace

std::string read_service(service_time& service, std::string_view text, bool may_be_zero) {
  const std::vector<std::string_view> parts = split(text);
  for (const shape_words& words : shapes) {
    if (parts[0] != words.name) continue;
    service_time read{.shape = words.shape};
    if (parts.size() != words.parts + 1 || !read_parts(read, parts, may_be_zero))
      return fmt::format("{}; times have a unit (ns, us, ms, s) and are from 1ns{} to 3600s", words.right,
                         may_be_zero && words.shape == kind::fixed ? " (or 0ns)" : "");
    service = read;
    return "";
  }
  return "one of fixed:TIME, exp:MEAN, lognormal:MEAN:RATIO, bimodal:TIME:TIME:SHARE, pareto:MEAN:EXPONENT" +
         suggestion(parts[0], names);
}

std::string service_text(const service_time& s) {
  const std::string mean = duration_text(s.mean_ns);
  switch (s.shape) {
  case kind::fixed: return "fixed:" + mean;
  case kind::exponential: break;
  case kind::lognormal: return fmt::format("lognormal:{}:{}", mean, number_text(s.deviation));
  case kind::bimodal:
    return fmt::format("bimodal:{}:{}:{}", mean, duration_text(s.rare_ns), number_text(s.rare_share));
  case kind::pareto: return fmt::format("pareto:{}:{}", mean, number_text(s.exponent));
  }
  return "exp:" + mean;
}

} // namespace corewise
