#include "tuning_bench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

using namespace corewise;
using namespace corewise::tests;

namespace {

using key_list = std::vector<std::string>;

key_list keys_of(const profile& p) {
  key_list keys;
  for (const tuned_field& f : fields_of(p)) keys.push_back(f.key);
  return keys;
}

/// A cost that is least at known values, with noise that is the same for all profiles.
tuning_figures bowl(const profile& p, std::size_t, std::uint64_t seed) {
  double cost = 0.3 * noise_of(seed, 0);
  cost += 0.05 * off(p.dispatch.weights.spill.same_domain, 1);
  cost += 0.05 * off(p.dispatch.weights.spill.same_node, 12);
  cost += 0.05 * off(p.dispatch.weights.spill.cross_package, 60);
  cost += 0.05 * off(p.steal.minimum_at.same_node, 5);
  cost += 0.05 * off(p.steal.minimum_at.cross_package, 9);
  cost += 0.05 * off(p.idle.searchers_per_mille, 150);
  cost += p.dispatch.weights.score == score_kind::drain_time ? 0 : 0.04;
  cost += p.topology.groups.group_max == 8 ? 0 : 0.04;
  return all_figures(cost);
}

void check_bowl_is_found(const profile& p) {
  CHECK(p.dispatch.weights.score == score_kind::drain_time);
  CHECK(p.topology.groups.group_max == 8);
  CHECK(off(p.dispatch.weights.spill.same_domain, 1) < 0.04);
  CHECK(off(p.dispatch.weights.spill.same_node, 12) < 0.04);
  CHECK(off(p.dispatch.weights.spill.cross_package, 60) < 0.04);
  CHECK(off(p.steal.minimum_at.same_node, 5) < 0.04);
  CHECK(off(p.steal.minimum_at.cross_package, 9) < 0.04);
  CHECK(off(p.idle.searchers_per_mille, 150) < 0.04);
}

} // namespace

TEST_CASE("settings without an effect on the machine are not searched") {
  CHECK(keys_of(on_machine("core:1 pu:1")) ==
        key_list{"queues.budget", "injection.target_latency", "idle.spin"});
  CHECK(keys_of(on_machine("core:8 pu:1")) ==
        key_list{"dispatch.spill.same_domain", "steal.batch_max", "queues.budget", "queues.oldest_first",
                 "injection.target_latency", "idle.searchers_per_mille", "idle.spin"});
  CHECK(keys_of(on_machine("core:24 pu:1")).front() == "topology.group_max");
  CHECK(keys_of(on_two_packages()) ==
        key_list{"topology.group_by", "topology.group_max", "dispatch.score", "dispatch.spill.same_domain",
                 "dispatch.spill.same_node", "dispatch.spill.cross_package", "steal.batch_max",
                 "steal.minimum_at.same_node", "steal.minimum_at.cross_package", "queues.budget",
                 "queues.oldest_first", "injection.target_latency", "idle.searchers_per_mille", "idle.spin"});
  CHECK(keys_of(on_machine("pack:1 numa:2 l3:1 core:2 pu:1")) ==
        key_list{"dispatch.spill.same_domain", "dispatch.spill.same_package", "steal.batch_max",
                 "steal.minimum_at.same_package", "queues.budget", "queues.oldest_first",
                 "injection.target_latency", "idle.searchers_per_mille", "idle.spin"});
}

TEST_CASE("settings that the policy does not use are not searched") {
  profile p = on_machine("pack:2 numa:1 core:2 pu:1");
  p.dispatch.policy = "two_choices";
  CHECK(keys_of(p) == key_list{"steal.batch_max", "steal.minimum_at.cross_package", "queues.budget",
                               "queues.oldest_first", "injection.target_latency", "idle.searchers_per_mille",
                               "idle.spin"});
  p.steal.policy = "none";
  CHECK(keys_of(p) == key_list{"queues.budget", "injection.target_latency", "idle.spin"});
}

TEST_CASE(
    "settings on which the number of workers depends are not searched where the start gives that number") {
  profile p = on_two_packages();
  p.workers.per_group = 4;
  const key_list keys = keys_of(p);
  CHECK(std::ranges::find(keys, "topology.group_by") == keys.end());
  CHECK(std::ranges::find(keys, "topology.group_max") == keys.end());

  p = on_machine("core:8 pu:2");
  CHECK(keys_of(p).front() == "topology.smt");
  p.workers.total = 8;
  CHECK(keys_of(p).front() == "dispatch.spill.same_domain");
}

TEST_CASE("a setting of the start that is no usual choice is one of the choices, in the words of a profile") {
  profile p = on_machine("core:8 pu:2");
  p.idle.spin = std::chrono::nanoseconds{1500};
  p.queues.oldest_first.reset();
  std::vector<tuned_field> fields = fields_of(p);
  const auto words = [&](std::string_view key) {
    key_list list;
    const auto f = std::ranges::find(fields, key, &tuned_field::key);
    REQUIRE(f != fields.end());
    for (const double choice : f->choices) list.push_back(f->text(choice));
    return list;
  };
  CHECK(words("idle.spin") == key_list{"0us", "5us", "20us", "100us", "500us", "1500ns"});
  CHECK(words("queues.oldest_first") == key_list{"5us", "50us", "never"});
  CHECK(words("injection.target_latency") == key_list{"200us", "1ms", "10ms"});
  CHECK(words("topology.smt") == key_list{"one_per_core", "all"});
  for (const tuned_field& f : fields) { // each value comes back
    profile written = p;
    f.write(written, f.read(p));
    CHECK_MESSAGE(profile_text(written) == profile_text(p), f.key);
  }
}

TEST_CASE("the search finds a known optimum, also of the choices") {
  const profile start = on_two_packages();
  const tuning_result r =
      tune(bench_engine(), start, fields_of(start), bowl, {.seeds = 2, .evaluations = 600});
  CHECK(r.gained);
  check_bowl_is_found(r.tuned);
  CHECK(r.searched_ratio == doctest::Approx(r.over_start.ratio)); // the noise is common
  CHECK(r.over_start.low == doctest::Approx(r.over_start.high));
  CHECK(r.exhausted);
}

TEST_CASE("every profile that is tried passes the checks, and nearness never costs more than distance") {
  std::atomic<int> wrong{0};
  const auto temptation = [&wrong](const profile& p, std::size_t, std::uint64_t) {
    const spill_costs& s = p.dispatch.weights.spill;
    if (!check_profile(p).empty() || s.same_domain > s.same_node || s.same_node > s.cross_package) ++wrong;
    // the cost favours what is forbidden: near is dear, far is cheap, and stealing from there is late
    return all_figures(0.05 * (std::log(s.cross_package) - std::log(s.same_domain) -
                               std::log(p.steal.minimum_at.cross_package)));
  };
  const profile start = on_two_packages();
  const tuning_result r =
      tune(bench_engine(), start, fields_of(start), temptation, {.seeds = 1, .evaluations = 300});
  CHECK(wrong == 0);
  CHECK(r.gained);
  CHECK(r.tuned.dispatch.weights.spill.cross_package >= 2.0 * r.tuned.steal.minimum_at.cross_package);
}

TEST_CASE("a setting without an effect stays as it was") {
  const profile start = on_two_packages();
  const auto only_searchers = [](const profile& p, std::size_t, std::uint64_t) {
    return all_figures(0.1 * off(p.idle.searchers_per_mille, 100));
  };
  const tuning_result r =
      tune(bench_engine(), start, fields_of(start), only_searchers, {.seeds = 1, .evaluations = 200});
  CHECK(r.gained);
  for (const auto& c : r.changes)
    CHECK_MESSAGE((c.before == c.after) == (c.field.key != "idle.searchers_per_mille"), c.field.key);
}

TEST_CASE("the same number of evaluations finds the same profile again, for each end of the first search") {
  const profile start = on_two_packages();
  const auto search = [&](std::uint32_t evaluations) {
    return tune(bench_engine(), start, fields_of(start), bowl, {.seeds = 2, .evaluations = evaluations});
  };
  const tuning_result first = search(97), again = search(97), shorter = search(13);
  CHECK(first.evaluations == 97);
  CHECK(profile_text(first.candidate) == profile_text(again.candidate));
  CHECK(first.over_default.high == again.over_default.high);
  CHECK(shorter.evaluations == 13);
  CHECK(shorter.searched_ratio >= first.searched_ratio);
}

TEST_CASE("a search ends with its budget of time") {
  const profile start = on_two_packages();
  const auto slow = [](const profile& p, std::size_t w, std::uint64_t seed) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return bowl(p, w, seed);
  };
  const auto began = std::chrono::steady_clock::now();
  const tuning_result r = tune(bench_engine(), start, fields_of(start), slow,
                               {.seeds = 4, .held_out = 4, .budget = std::chrono::milliseconds{200}});
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{5});
  CHECK(r.evaluations > 0);
  CHECK(r.evaluations < 1000);
  CHECK_FALSE(r.exhausted);
}

TEST_CASE("with several workloads the mean of their gains counts") {
  const profile start = on_machine("pack:2 numa:1 core:4 pu:1");
  const auto torn = [](const profile& p, std::size_t workload, std::uint64_t) {
    return all_figures(0.1 * off(p.dispatch.weights.spill.cross_package, workload == 0 ? 40 : 160));
  };
  const tuning_result r =
      tune(bench_engine(), start, fields_of(start), torn, {.workloads = 2, .seeds = 1, .evaluations = 200});
  CHECK(off(r.tuned.dispatch.weights.spill.cross_package, 80) < 0.02); // between the two
  REQUIRE(r.by_workload.size() == 2);
  CHECK(r.by_workload[0].ratio * r.by_workload[1].ratio == doctest::Approx(squared(r.over_start.ratio)));
}

TEST_CASE("energy is saved only as far as the 99th percentile is no more than a tenth worse") {
  const profile start = on_machine("pack:2 numa:1 core:4 pu:1");
  const auto dear = [](const profile& p, std::size_t, std::uint64_t seed) {
    const double slower = std::log(p.dispatch.weights.spill.cross_package / 16);
    return tuning_figures{1e6 * std::exp(0.2 * slower + 0.001 * noise_of(seed, 1)), 1,
                          std::exp(-0.2 * slower)};
  };
  tuning_options options{.goal = tuning_goal::energy, .seeds = 2, .evaluations = 200};
  const tuning_result r = tune(bench_engine(), start, fields_of(start), dear, options);
  CHECK(r.gained);
  CHECK(r.p99_over_start.ratio > 1.05);
  CHECK(r.p99_over_start.high < 1.1);
  options.goal = tuning_goal::throughput; // throughput is the same whatever the profile
  CHECK_FALSE(tune(bench_engine(), start, fields_of(start), dear, options).gained);
}

TEST_CASE("a run without figures and an objective that throws end the tuning") {
  const profile start = on_machine("core:8 pu:1");
  const auto nothing = [](const profile&, std::size_t, std::uint64_t) { return tuning_figures{}; };
  CHECK_THROWS_WITH_AS(tune(bench_engine(), start, fields_of(start), nothing, {}),
                       doctest::Contains("has no figures to compare"), std::runtime_error);
  std::atomic<int> runs{0};
  const auto fails = [&runs](const profile&, std::size_t, std::uint64_t) {
    if (++runs > 50) throw workload_error("the trace ends");
    return all_figures(0);
  };
  CHECK_THROWS_AS(tune(bench_engine(), start, fields_of(start), fails, {}), workload_error);
  CHECK_THROWS_AS(tune(bench_engine(), start, fields_of(start), bowl, {.held_out = 1}),
                  std::invalid_argument);
}
