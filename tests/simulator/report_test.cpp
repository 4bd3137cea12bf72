#include <corewise/simulator/report.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace corewise;

namespace {

/// Responses of `ns` and of ten times as much, one in a hundred of which is longer.
simulation_result result(double ns, bool steady = true) {
  simulation_result r;
  r.tasks = 1000;
  r.measured_ns = 1'000'000;
  r.ended_ns = 1'100'000;
  for (int i = 0; i < 1000; ++i) {
    const double took = i % 50 == 0 ? 10 * ns : ns;
    r.response.add(took);
    (i < 500 ? r.first_half : r.second_half).add(steady || i < 500 ? took : 3 * took);
    r.slowdown.add(2500);
  }
  r.ran_at = {700, 100, 100, 50, 50};
  r.stolen_at = {10, 20, 0, 0, 5};
  r.placed = 990;
  r.wake_ups = 400;
  r.parks = 410;
  r.events = 5000;
  r.busy = 0.5;
  r.mean_in_system = 12.5;
  r.kinds = {{"E", 8, 0.25, 0.75, 300, 0.5}, {"P", 4, 0.75, 0.25, 700, 1.5}};
  r.samples = {{0, {0, 1}}, {1000, {2, 1.5F}}};
  return r;
}

simulation_report report() {
  return {"machine:two.yaml",
          "poisson,load=0.7",
          1000,
          {1},
          {{"default", {result(10'000)}}, {"a, \"b\"", {result(20'000, false)}}}};
}

simulation_report of_seeds() {
  return {"live", "closed", 1000, {1, 2, 3}, {{"x", {result(3000), result(1000), result(2000, false)}}}};
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

std::string line(const std::string& text, std::size_t n) {
  std::istringstream in(text);
  std::string l;
  for (std::size_t i = 0; i <= n; ++i) std::getline(in, l);
  return l;
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("report: the text has a row for each profile, and explains the word void") {
  const std::string text = to_text(report());
  CAPTURE(text);
  CHECK(line(text, 0) == "machine:two.yaml");
  CHECK(line(text, 1) == "poisson,load=0.7");
  CHECK(line(text, 2) == "1000 tasks, seed 1");
  CHECK(contains(text, "slowdown p99"));
  CHECK(contains(text, "busy P"));
  CHECK(contains(text, "75.0%"));
  CHECK(text.find("busy P") < text.find("busy E"));
  CHECK(contains(text, "2000.0")); // joules per million tasks
  CHECK(contains(text, "400.0"));  // wake-ups per thousand
  CHECK(line(text, 5).starts_with("default"));
  CHECK(!line(text, 5).ends_with("void"));
  CHECK(line(text, 6).ends_with("void"));
  CHECK(contains(text, "\nvoid: the p99 of the second half"));
  CHECK(!contains(to_text({"m", "w", 1, {1}, {{"x", {result(1)}}}}), "void"));
}

TEST_CASE("report: a row is void by the halves of all its seeds together") {
  const simulation_result rises = result(2000, false);
  simulation_result falls = rises;
  std::swap(falls.first_half, falls.second_half);
  CHECK(profile_runs{"x", {result(3000), result(1000)}}.is_void() == false);
  CHECK(profile_runs{"x", {result(3000), result(1000), rises}}.is_void());
  CHECK(profile_runs{"x", {rises, falls}}.is_void() == false);
  CHECK(profile_runs{"x", {simulation_result{}}}.is_void());
}

TEST_CASE("report: with several seeds it shows medians, and the least and the most p99") {
  const simulation_report three = of_seeds();
  const std::string text = to_text(three);
  CAPTURE(text);
  CHECK(line(text, 2) == "1000 tasks, seeds 1, 2, 3: medians, and the least and the most p99");
  CHECK(contains(line(text, 4), "least"));
  const auto p = nlohmann::ordered_json::parse(to_json(three))["profiles"][0];
  CHECK(p["response_p50_ns"].get<double>() == doctest::Approx(2000).epsilon(0.01));
  CHECK(p["response_p99_ns"].get<double>() == doctest::Approx(20'000).epsilon(0.01));
  CHECK(p["response_p99_least_ns"].get<double>() == doctest::Approx(10'000).epsilon(0.01));
  CHECK(p["response_p99_most_ns"].get<double>() == doctest::Approx(30'000).epsilon(0.01));
}

TEST_CASE("report: the JSON has every figure, with its unit in its name") {
  const auto json = nlohmann::ordered_json::parse(to_json(report()));
  CHECK(json["machine"] == "machine:two.yaml");
  CHECK(json["workload"] == "poisson,load=0.7");
  CHECK(json["tasks"] == 1000);
  CHECK(json["seeds"] == nlohmann::json::array({1}));
  REQUIRE(json["profiles"].size() == 2);
  const auto& p = json["profiles"][0];
  CHECK(p["profile"] == "default");
  CHECK(p["void"] == false);
  CHECK(json["profiles"][1]["void"] == true);
  CHECK(p["response_max_ns"] == 100'000);
  CHECK(p["slowdown_p99"].get<double>() == doctest::Approx(2.5).epsilon(0.01));
  CHECK(p["throughput_tasks_per_s"] == 1'000'000);
  CHECK(p["mean_tasks_in_system"] == 12.5);
  CHECK(p["busy_share"] == 0.5);
  CHECK(p["crossed_share"] == 0.05);
  CHECK(p["ran_at_tasks"] == nlohmann::ordered_json{{"same_group", 700},
                                                    {"same_domain", 100},
                                                    {"same_node", 100},
                                                    {"same_package", 50},
                                                    {"cross_package", 50}});
  CHECK(p["stolen_at_tasks"]["cross_package"] == 5);
  CHECK(p["wake_ups"] == 400);
  CHECK(p["energy_joules"] == 2);
  CHECK(p["energy_joules_per_million_tasks"] == 2000);
  CHECK(p["kinds"]["P"] ==
        nlohmann::ordered_json{
            {"workers", 4}, {"busy_share", 0.75}, {"idle_share", 0.25}, {"tasks", 700}, {"joules", 1.5}});
  CHECK(p["measured_tasks"] == 1000);
  CHECK(p["ended_ns"] == 1'100'000);
}

TEST_CASE("report: the CSV has a line of names and one for each profile, as many fields in each") {
  const std::string csv = to_csv({report(), of_seeds()});
  CAPTURE(csv);
  CHECK(std::ranges::count(csv, '\n') == 4);
  CHECK(line(csv, 0).starts_with(
      "machine,workload,tasks,seeds,profile,void,response_mean_ns,response_p50_ns,"));
  CHECK(contains(line(csv, 0), ",stolen_at_tasks.same_node,"));
  CHECK(contains(line(csv, 0), ",kinds.P.busy_share,"));
  CHECK(line(csv, 1).starts_with("machine:two.yaml,\"poisson,load=0.7\",1000,1,default,0,"));
  CHECK(contains(line(csv, 2), ",\"a, \"\"b\"\"\",1,"));
  CHECK(line(csv, 3).starts_with("live,closed,1000,1 2 3,x,1,"));
  const auto commas = [&](std::size_t n) { return std::ranges::count(line(csv, n), ','); };
  CHECK(commas(1) == commas(0) + 1); // one is quoted
  CHECK(commas(3) == commas(0));
}

TEST_CASE("report: machines with other kinds leave the fields of those empty") {
  simulation_report other = report();
  other.profiles[1].runs[0].kinds = {{"big", 2, 0.5, 0.5, 1000, 1}};
  const std::string csv = to_csv({other});
  CHECK(contains(line(csv, 0), "kinds.P.workers"));
  CHECK(contains(line(csv, 0), "kinds.big.workers"));
  CHECK(contains(line(csv, 1), ",,,,,"));
  CHECK(contains(to_text(other), "busy big"));
}

TEST_CASE("report: a run without measured tasks is shown as well") {
  const simulation_report nothing{"m", "w", 1, {1}, {{"x", {simulation_result{}}}}};
  CHECK(contains(to_text(nothing), "0ns"));
  CHECK(nlohmann::ordered_json::parse(to_json(nothing))["profiles"][0]["energy_joules_per_million_tasks"] ==
        0);
  CHECK(contains(to_csv({nothing}), "\nm,w,1,1,x,"));
}

TEST_CASE("charts: gnuplot draws the responses of all profiles, and the load of each") {
  if (std::system("command -v gnuplot >/dev/null") != 0) {
    MESSAGE("skipped: gnuplot is not installed");
    return;
  }
  std::string name = (std::filesystem::temp_directory_path() / "corewise-charts-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path directory = std::filesystem::path(name) / "it's new";
  check_charts();
  simulation_report r = report();
  r.profiles[0].profile = "it's `date` $x\n{/b}";
  const auto drawn = draw_charts(r, directory, "1-poisson");
  CHECK(drawn == std::vector<std::filesystem::path>{directory / "1-poisson-response.svg",
                                                    directory / "1-poisson-load-1.svg",
                                                    directory / "1-poisson-load-2.svg"});
  for (const auto& file : drawn) CHECK(contains(read(file), "</svg>"));
  CHECK(contains(read(drawn[0]), "it's `date` $x {/b}"));
  CHECK(contains(read(drawn[1]), "group 1"));
  std::filesystem::remove_all(name);
}
