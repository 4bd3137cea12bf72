#include "workload_keys.hpp"

#include "service_text.hpp"
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace corewise {

namespace {

using namespace simulated_words;
using kind = workload::kind;
using answer = std::optional<std::string>;

constexpr std::array<workload_kind_word, 7> kinds{{{kind::poisson, "poisson"},
                                                   {kind::mmpp, "mmpp"},
                                                   {kind::trace, "trace"},
                                                   {kind::closed, "closed"},
                                                   {kind::fork_join, "fork-join"},
                                                   {kind::ping_pong, "ping-pong"},
                                                   {kind::yield_ring, "yield-ring"}}};

constexpr std::uint64_t most_things = 1'000'000;
constexpr std::uint32_t most_places = 65535; // CPUs, nodes
constexpr double shortest_burst_ns = 1;
constexpr double longest_burst_ns = 3600e9;

/// Reads a number above `low` and at most `high`.
std::string read_above(double& number, std::string_view value, double low, double high) {
  const std::optional<double> read = read_number(value);
  if (!read || !(*read > low) || *read > high)
    return fmt::format("a number above {} and at most {}", low, number_text(high));
  number = *read;
  return "";
}

template <std::uint32_t workload::* Member> std::string read_things(workload& w, std::string_view value) {
  const std::optional<std::uint64_t> read = read_count(value, most_things);
  if (!read || *read == 0) return fmt::format("a whole number from 1 to {}", most_things);
  w.*Member = static_cast<std::uint32_t>(*read);
  return "";
}

template <std::uint32_t workload::* Member> answer write_things(const workload& w) {
  return std::to_string(w.*Member);
}

template <bool workload::* Member> std::string read_flag(workload& w, std::string_view) {
  w.*Member = true;
  return "";
}

template <bool workload::* Member> answer write_flag(const workload& w) {
  return w.*Member ? answer("") : std::nullopt;
}

/// Reads the N of "PREFIX:N".
std::optional<std::uint32_t> read_place(std::string_view prefix, std::string_view value) {
  if (!value.starts_with(prefix)) return std::nullopt;
  const std::optional<std::uint64_t> read = read_count(value.substr(prefix.size()), most_places);
  return read ? std::optional(static_cast<std::uint32_t>(*read)) : std::nullopt;
}

std::string read_load(workload& w, std::string_view value) { return read_above(w.load, value, 0, 10); }
answer write_load(const workload& w) { return w.rate ? std::nullopt : answer(number_text(w.load)); }

std::string read_rate(workload& w, std::string_view value) {
  double rate = 0;
  const std::string right = read_above(rate, value, 0, 1e9);
  if (right.empty()) w.rate = rate;
  return right.empty() ? "" : right + ", arrivals a second";
}
answer write_rate(const workload& w) { return w.rate ? answer(number_text(*w.rate)) : std::nullopt; }

std::string read_service_key(workload& w, std::string_view value) {
  return read_service(w.service, value, /*may_be_zero=*/false);
}
answer write_service_key(const workload& w) { return service_text(w.service); }

std::string read_burst(workload& w, std::string_view value) {
  const std::optional<double> read = read_number(value);
  if (!read || *read < 1 || *read > 1e6)
    return "a number from 1 to 1000000, the rate in bursts / the rate outside bursts";
  w.burst_ratio = *read;
  return "";
}
answer write_burst(const workload& w) { return number_text(w.burst_ratio); }

std::string read_burst_share(workload& w, std::string_view value) {
  const std::optional<double> read = read_number(value);
  if (!read || *read < 1e-6 || *read > 1 - 1e-6)
    return "a number from 0.000001 to 0.999999, the share of time in bursts";
  w.burst_share = *read;
  return "";
}
answer write_burst_share(const workload& w) { return number_text(w.burst_share); }

std::string read_burst_length(workload& w, std::string_view value) {
  const std::optional<double> read = read_duration(value);
  if (!read || *read < shortest_burst_ns || *read > longest_burst_ns)
    return "a time with its unit (ns, us, ms, s) from 1ns to 3600s, such as 1ms";
  w.burst_ns = *read;
  return "";
}
answer write_burst_length(const workload& w) { return duration_text(w.burst_ns); }

std::string read_file(workload& w, std::string_view value) {
  if (value.empty()) return "the path of a trace, which has no comma";
  w.file = value;
  return "";
}
answer write_file(const workload& w) { return w.file.string(); }

std::string read_think(workload& w, std::string_view value) {
  return read_service(w.think, value, /*may_be_zero=*/true);
}
answer write_think(const workload& w) { return service_text(w.think); }

std::string read_from(workload& w, std::string_view value) {
  if (value == "outside") return w.submitted = workload::from::outside, "";
  if (value == "worker") return w.submitted = workload::from::worker, "";
  const std::optional<std::uint32_t> cpu = read_place("cpu:", value);
  if (!cpu) return fmt::format("outside, worker, or cpu:N with a CPU from 0 to {}", most_places);
  w.submitted = workload::from::cpu;
  w.from_cpu = *cpu;
  return "";
}
answer write_from(const workload& w) {
  switch (w.submitted) {
  case workload::from::cpu: return fmt::format("cpu:{}", w.from_cpu);
  case workload::from::worker: return "worker";
  case workload::from::outside: break;
  }
  return "outside";
}

std::string read_data(workload& w, std::string_view value) {
  if (value == "none") return w.homes = workload::data::none, "";
  if (value == "submitter") return w.homes = workload::data::submitter, "";
  if (value == "random") return w.homes = workload::data::random, "";
  const std::optional<std::uint32_t> node = read_place("node:", value);
  if (!node) return fmt::format("none, submitter, random, or node:N with a number from 0 to {}", most_places);
  w.homes = workload::data::node;
  w.data_node = *node;
  return "";
}
answer write_data(const workload& w) {
  switch (w.homes) {
  case workload::data::submitter: return "submitter";
  case workload::data::random: return "random";
  case workload::data::node: return fmt::format("node:{}", w.data_node);
  case workload::data::none: break;
  }
  return "none";
}

std::string read_class(workload& w, std::string_view value) {
  for (const task_class c : {task_class::normal, task_class::latency, task_class::background})
    if (value == to_string(c)) return w.run_as = c, "";
  return "normal, latency or background";
}
answer write_class(const workload& w) { return std::string(to_string(w.run_as)); }

constexpr std::uint32_t every = (std::uint32_t{1} << kinds.size()) - 1;
constexpr std::uint32_t open = bit_of(kind::poisson) | bit_of(kind::mmpp) | bit_of(kind::fork_join);

constexpr std::array<workload_key, 20> keys{{
    {"load", open, false, read_load, write_load},
    {"rate", open, false, read_rate, write_rate},
    {"burst", bit_of(kind::mmpp), false, read_burst, write_burst},
    {"burst-share", bit_of(kind::mmpp), false, read_burst_share, write_burst_share},
    {"burst-length", bit_of(kind::mmpp), false, read_burst_length, write_burst_length},
    {"file", bit_of(kind::trace), false, read_file, write_file},
    {"clients", bit_of(kind::closed), false, read_things<&workload::clients>,
     write_things<&workload::clients>},
    {"think", bit_of(kind::closed), false, read_think, write_think},
    {"depth", bit_of(kind::fork_join), false, read_things<&workload::depth>, write_things<&workload::depth>},
    {"fanout", bit_of(kind::fork_join), false, read_things<&workload::fanout>,
     write_things<&workload::fanout>},
    {"pairs", bit_of(kind::ping_pong), false, read_things<&workload::pairs>, write_things<&workload::pairs>},
    {"spawned", bit_of(kind::ping_pong), true, read_flag<&workload::spawned>, write_flag<&workload::spawned>},
    {"tasks", bit_of(kind::yield_ring), false, read_things<&workload::tasks>, write_things<&workload::tasks>},
    {"service", every & ~bit_of(kind::trace), false, read_service_key, write_service_key},
    {"from", every, false, read_from, write_from},
    {"data", every, false, read_data, write_data},
    {"hinted", every, true, read_flag<&workload::hinted>, write_flag<&workload::hinted>},
    {"near-data", every, true, read_flag<&workload::near_data>, write_flag<&workload::near_data>},
    {"class", every, false, read_class, write_class},
    {"lines", every, false, read_things<&workload::lines>, write_things<&workload::lines>},
}};

} // namespace

std::span<const workload_kind_word> workload_kinds() noexcept { return kinds; }

std::span<const workload_key> workload_keys() noexcept { return keys; }

std::uint64_t tree_size(std::uint32_t depth, std::uint32_t fanout) noexcept {
  std::uint64_t size = 1, level = 1;
  for (std::uint32_t i = 0; i < depth && size <= largest_tree; ++i) {
    level *= fanout;
    size += level;
  }
  return size;
}

} // namespace corewise
