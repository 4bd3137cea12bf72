#include <corewise/simulator/simulation.hpp>
#include <corewise/simulator/workload.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

using namespace corewise;

namespace {

/// A file that is gone with the object.
class trace {
 public:
  explicit trace(std::string_view text) {
    std::string name = (std::filesystem::temp_directory_path() / "corewise-trace-XXXXXX").string();
    const int fd = ::mkstemp(name.data());
    REQUIRE(fd >= 0);
    path_ = name;
    std::ofstream("/dev/fd/" + std::to_string(fd), std::ios::binary) << text;
  }
  ~trace() { std::filesystem::remove(path_); }
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<arrival> all_of(const std::filesystem::path& file) {
  workload w;
  w.shape = workload::kind::trace;
  w.file = file;
  arrival_stream stream(w, 4, 1);
  CHECK(stream.rate() == 0);
  std::vector<arrival> all;
  while (const auto a = stream.next()) all.push_back(*a);
  CHECK(!stream.next());
  return all;
}

std::string error_of(const std::filesystem::path& file) {
  try {
    (void)all_of(file);
  } catch (const workload_error& error) {
    return error.what();
  }
  return "";
}

simulation_result simulated(const trace& t, std::uint64_t tasks,
                            std::chrono::nanoseconds spin = std::chrono::microseconds{20}) {
  profile p;
  p.topology.machine.source = synthetic_source{"pack:2 numa:1 core:2 pu:1"};
  p.idle.spin = spin;
  workload w;
  w.shape = workload::kind::trace;
  w.file = t.path();
  return simulate(p, simulated_machine(p), w, {.tasks = tasks});
}

} // namespace

TEST_CASE("trace: names of columns, comments, empty lines and blanks are skipped") {
  const trace t(
      "# made by hand\n\ntime_ns,service_ns,node,class\n0,100\n 10 , 2.5e3 ,1\r\n10,0,,latency # third\n"
      "  # nothing\n20,7,65535,background\n30,8,normal");
  const auto all = all_of(t.path());
  REQUIRE(all.size() == 5);
  CHECK(all[0].time_ns == 0);
  CHECK(all[0].service_ns == 100);
  CHECK(!all[0].node);
  CHECK(!all[0].run_as);
  CHECK(all[1].time_ns == 10);
  CHECK(all[1].service_ns == 2500);
  CHECK(all[1].node == 1);
  CHECK(!all[2].node);
  CHECK(all[2].run_as == task_class::latency);
  CHECK(all[3].node == 65535);
  CHECK(all[3].run_as == task_class::background);
  CHECK(all[4].run_as == task_class::normal);
}

TEST_CASE("trace: a byte order mark may stand at the beginning, and nowhere else") {
  CHECK(all_of(trace("\xEF\xBB\xBFtime_ns,service_ns\n0,100\n").path()).size() == 1);
  CHECK(all_of(trace("\xEF\xBB\xBF"
                     "0,100\n")
                   .path())
            .size() == 1);
  CHECK(!error_of(trace("0,100\n\xEF\xBB\xBF"
                        "1,100\n")
                      .path())
             .empty());
}

TEST_CASE("trace: an error names its line") {
  struct row {
    std::string_view text, message;
  };
  const std::string long_line = "1,2#" + std::string(100'000, 'x');
  const std::string nothing_but_zeros("1,2\n\0\0\0\n", 8);
  const row rows[]{
      {"1,2\n5\n", R"(:2: found "5"; expected time_ns,service_ns[,node][,class])"},
      {"1,2,3,normal,5\n", R"(:1: found "1,2,3,normal,5"; expected time_ns,)"},
      {"1,2\n\n# x\n0,5\n", ":4: time_ns: found 0 after 1; expected times that ascend"},
      {"1,2\ntime_ns,service_ns\n", R"(:2: time_ns: found "time_ns"; expected a whole number)"},
      {"-1,2\n", R"(:1: time_ns: found "-1")"},
      {"1.5,2\n", R"(:1: time_ns: found "1.5")"},
      {"12x,2\n", R"(:1: time_ns: found "12x")"},
      {",2\n", R"(:1: time_ns: found "")"},
      {"99999999999999999999,2\n", ":1: time_ns: found"},
      {"9000000000000000000,2\n", ":1: time_ns: found"},
      {"1,\n", R"(:1: service_ns: found ""; expected a number from 0 to 3600e9)"},
      {"1,-2\n", R"(:1: service_ns: found "-2")"},
      {"1,nan\n", R"(:1: service_ns: found "nan")"},
      {"1,inf\n", R"(:1: service_ns: found "inf")"},
      {"1,1e300\n", R"(:1: service_ns: found "1e300")"},
      {"1,2,-1\n", R"(:1: node: found "-1"; expected a number from 0 to 65535)"},
      {"1,2,65536\n", R"(:1: node: found "65536")"},
      {"1,2,urgent\n", R"(:1: node: found "urgent")"},
      {"1,2,3,urgent\n", R"(:1: class: found "urgent"; expected normal, latency or background)"},
      {"1,2,latency,3\n", R"(:1: node: found "latency")"},
      {nothing_but_zeros, ":2: found \"???\""},
      {long_line, ":1: found a line of more than 1022 characters"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const trace t(r.text);
    const std::string error = error_of(t.path());
    CAPTURE(error);
    CHECK(error.starts_with(t.path().string() + std::string(r.message.substr(0, r.message.find(' ')))));
    CHECK(error.find(r.message) != std::string::npos);
    CHECK(error.size() < 300);
  }
}

TEST_CASE("trace: a file that is empty, or has comments only, has no arrivals") {
  for (const char* text : {"", "\n\n", "# nothing\n", "time_ns,service_ns\n"}) {
    const trace t(text);
    CHECK(error_of(t.path()) == t.path().string() + ": has no arrivals");
  }
}

TEST_CASE("trace: a file that cannot be read is named, with the reason") {
  CHECK(error_of("/nowhere/at/all.csv") == "/nowhere/at/all.csv: No such file or directory");
  CHECK(error_of("/tmp") == "/tmp: Is a directory");
}

TEST_CASE("trace: a wrong line is reported when it is reached, not before") {
  const trace t("1,2\n2,2\nx\n");
  workload w;
  w.shape = workload::kind::trace;
  w.file = t.path();
  arrival_stream stream(w, 4, 1);
  CHECK(stream.next()->time_ns == 1);
  CHECK(stream.next()->time_ns == 2);
  CHECK_THROWS_AS(stream.next(), workload_error);
}

TEST_CASE("trace: a node that the machine does not have is an error") {
  CHECK(simulated(trace("0,1000,1\n"), 10).tasks == 1);
  for (const char* text : {"0,1000,2\n5,1000\n", "0,1000\n5,1000,65535\n"}) {
    const trace t(text);
    CHECK_THROWS_WITH_AS((void)simulated(t, 10), doctest::Contains("the machine has 2 memory nodes"),
                         workload_error);
  }
}

TEST_CASE("trace: a run of fewer tasks than asked for is measured as one of so many") {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * 5000) + ",10000\n";
  const trace t(text);
  const simulation_result asked = simulated(t, 2000);
  const simulation_result more = simulated(t, 1'000'000);
  CHECK(tasks_that_come(parse_workload("trace,file=" + t.path().string()), 1'000'000) == 2000);
  CHECK(more.tasks == asked.tasks);
  CHECK(more.measured_ns == asked.measured_ns);
  CHECK(more.second_half.count() > 0);
  CHECK(simulated(t, 1'000'000, std::chrono::milliseconds{100}).measured_ns <
        2 * asked.measured_ns); // not until all sleep
}
