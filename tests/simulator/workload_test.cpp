#include <corewise/simulator/workload.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace corewise;

namespace {

using kind = workload::kind;

std::string error_of(std::string_view text) {
  try {
    parse_workload(text);
  } catch (const workload_error& error) {
    return error.what();
  }
  return "";
}

bool contains(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

bool same(const service_time& a, const service_time& b) {
  return a.shape == b.shape && a.mean_ns == b.mean_ns && a.deviation == b.deviation &&
         a.rare_ns == b.rare_ns && a.rare_share == b.rare_share && a.exponent == b.exponent;
}

/// Compares all fields but `text`.
bool same(const workload& a, const workload& b) {
  return a.shape == b.shape && same(a.service, b.service) && a.load == b.load && a.rate == b.rate &&
         a.burst_ratio == b.burst_ratio && a.burst_share == b.burst_share && a.burst_ns == b.burst_ns &&
         a.file == b.file && a.clients == b.clients && same(a.think, b.think) && a.depth == b.depth &&
         a.fanout == b.fanout && a.pairs == b.pairs && a.tasks == b.tasks && a.submitted == b.submitted &&
         a.from_cpu == b.from_cpu && a.homes == b.homes && a.data_node == b.data_node &&
         a.hinted == b.hinted && a.near_data == b.near_data && a.run_as == b.run_as &&
         a.spawned == b.spawned && a.lines == b.lines;
}

} // namespace

TEST_CASE("workload: a kind alone has the defaults") {
  const workload w = parse_workload("poisson");
  CHECK(same(w, workload{}));
  CHECK(w.text == "poisson");
  CHECK(describe(w) == "poisson,load=0.7,service=exp:10us,from=outside,data=none,class=normal,lines=1");
  CHECK(describe(workload{}) == describe(w));
}

TEST_CASE("workload: every key has its effect") {
  const workload poisson = parse_workload(
      " poisson, load=.85 ,service=bimodal:10us:1ms:.005,data=random,hinted,near-data,class=latency ");
  CHECK(poisson.load == 0.85);
  CHECK(poisson.service.shape == service_time::kind::bimodal);
  CHECK(poisson.service.mean_ns == 10'000);
  CHECK(poisson.service.rare_ns == 1'000'000);
  CHECK(poisson.service.rare_share == 0.005);
  CHECK(poisson.homes == workload::data::random);
  CHECK(poisson.hinted);
  CHECK(poisson.near_data);
  CHECK(poisson.run_as == task_class::latency);
  CHECK(poisson.text ==
        "poisson, load=.85 ,service=bimodal:10us:1ms:.005,data=random,hinted,near-data,class=latency");

  const workload mmpp = parse_workload("mmpp,rate=1e5,burst=8,burst-share=.2,burst-length=.5ms,service="
                                       "lognormal:20us:1.5,from=cpu:3,data=node:2");
  CHECK(mmpp.shape == kind::mmpp);
  CHECK(mmpp.rate == 100'000);
  CHECK(mmpp.burst_ratio == 8);
  CHECK(mmpp.burst_share == 0.2);
  CHECK(mmpp.burst_ns == 500'000);
  CHECK(mmpp.service.deviation == 1.5);
  CHECK(mmpp.submitted == workload::from::cpu);
  CHECK(mmpp.from_cpu == 3);
  CHECK(mmpp.homes == workload::data::node);
  CHECK(mmpp.data_node == 2);

  const workload closed =
      parse_workload("closed,clients=200,think=fixed:0ns,service=pareto:1us:1.5,from=worker");
  CHECK(closed.clients == 200);
  CHECK(closed.think.mean() == 0);
  CHECK(closed.service.exponent == 1.5);
  CHECK(closed.submitted == workload::from::worker);

  const workload trace = parse_workload("trace,file=/tmp/a b=c.csv,class=background,data=submitter");
  CHECK(trace.file == "/tmp/a b=c.csv");
  CHECK(trace.run_as == task_class::background);
  CHECK(trace.homes == workload::data::submitter);

  const workload trees = parse_workload("fork-join,depth=3,fanout=5,service=fixed:2s");
  CHECK(trees.depth == 3);
  CHECK(trees.fanout == 5);
  CHECK(trees.service.mean() == 2e9);
  CHECK(parse_workload("ping-pong,pairs=7").pairs == 7);
  CHECK(parse_workload("ping-pong,spawned,lines=4").spawned);
  CHECK(parse_workload("ping-pong,spawned,lines=4").lines == 4);
  CHECK(parse_workload("yield-ring,tasks=9").tasks == 9);
}

TEST_CASE("workload: a described workload is read as the same, for all numbers") {
  for (const char* text :
       {"poisson", "poisson,load=10,service=exp:0.333us",
        "poisson,rate=123456.789,service=fixed:1234567ns,data=submitter,hinted",
        "poisson,load=1e-7,service=fixed:3600s",
        "mmpp,load=.3,burst=1,burst-share=.999,burst-length=1.7us,class=background",
        "mmpp,rate=1e9,service=bimodal:1ns:1us:0", "trace,file=/var/tmp/some trace.csv,hinted,near-data",
        "closed,clients=1000000,think=lognormal:7.7ms:0.1",
        "closed,clients=1,think=fixed:0us,service=pareto:3ms:1.0000001", "fork-join,depth=1,fanout=999999",
        "fork-join,depth=1000,fanout=1,from=worker", "ping-pong,pairs=12,from=cpu:65535",
        "yield-ring,tasks=77,data=node:65535,hinted,near-data", "ping-pong,spawned,pairs=3,lines=4"}) {
    CAPTURE(text);
    const workload w = parse_workload(text);
    CAPTURE(describe(w));
    CHECK(same(parse_workload(describe(w)), w));
    CHECK(describe(parse_workload(describe(w))) == describe(w));
  }
  random_stream random(9, 9);
  for (int i = 0; i < 2000; ++i) {
    workload w;
    w.load = random.uniform() * 9 + 1e-9;
    w.service.mean_ns = 1 + 1e9 * random.uniform() * random.uniform();
    CAPTURE(describe(w));
    CHECK(same(parse_workload(describe(w)), w));
  }
}

TEST_CASE("workload: each error names the value found and the values expected") {
  struct row {
    std::string_view text, message;
  };
  constexpr row rows[]{
      {"",
       R"(workload: found ""; expected one of poisson, mmpp, trace, closed, fork-join, ping-pong, yield-ring)"},
      {"poison", R"(did you mean "poisson"?)"},
      {"fork_join", R"(did you mean "fork-join"?)"},
      {"poisson,", "workload: found nothing after a comma; expected KEY=VALUE"},
      {"poisson,laod=1", R"("laod": found an unknown key; expected one of load, rate, service,)"},
      {"poisson,laod=1", R"(did you mean "load"?)"},
      {"mmpp,burst-len=1ms", R"(did you mean "burst-length"?)"},
      {"poisson,clients=3", "clients: found a key that poisson does not use; expected one of load, rate"},
      {"closed,load=.5", "load: found a key that closed does not use; expected one of clients, think"},
      {"trace,file=x,service=exp:1us", "service: found a key that trace does not use; expected one of file"},
      {"poisson,load=1,load=2", "load: found it twice; expected it once"},
      {"poisson,load=.5,rate=5", "load: found both load and rate; expected one of the two"},
      {"poisson,load", "load: found no value; expected a number above 0 and at most 10"},
      {"poisson,load=", R"(load: found ""; expected a number above 0 and at most 10)"},
      {"poisson,load=0", R"(load: found "0"; expected a number above 0 and at most 10)"},
      {"poisson,load=-1", R"(load: found "-1")"},
      {"poisson,load=10.1", R"(load: found "10.1")"},
      {"poisson,load=nan", R"(load: found "nan")"},
      {"poisson,load=inf", R"(load: found "inf")"},
      {"poisson,load=.5x", R"(load: found ".5x")"},
      {"poisson,load=1e999", R"(load: found "1e999")"},
      {"poisson,rate=0",
       R"(rate: found "0"; expected a number above 0 and at most 1000000000, arrivals a second)"},
      {"poisson,rate=2e9", "rate: found"},
      {"poisson,service=exp", R"(service: found "exp"; expected exp:MEAN, such as exp:10us)"},
      {"poisson,service=exp:10", "times have a unit (ns, us, ms, s)"},
      {"poisson,service=exp:0us", "service: found"},
      {"poisson,service=exp:0.5ns", "service: found"},
      {"poisson,service=exp:-1us", "service: found"},
      {"poisson,service=exp:3601s", "from 1ns to 3600s"},
      {"poisson,service=exp:1us:2", "expected exp:MEAN"},
      {"poisson,service=exponential:1us", R"(did you mean "exp"?)"},
      {"poisson,service=parteo:1us:2", R"(did you mean "pareto"?)"},
      {"poisson,service=fixed:0ns", "service: found"},
      {"poisson,service=lognormal:1us", "expected lognormal:MEAN:RATIO"},
      {"poisson,service=lognormal:1us:0", "above 0 and at most 100"},
      {"poisson,service=lognormal:1us:101", "above 0 and at most 100"},
      {"poisson,service=bimodal:1us:1ms:1.1", "share from 0 to 1"},
      {"poisson,service=bimodal:1us:1ms:-.1", "share from 0 to 1"},
      {"poisson,service=bimodal:1us:.5", "expected bimodal:TIME:TIME:SHARE"},
      {"poisson,service=pareto:1us:1", "the exponent above 1"},
      {"poisson,service=pareto:1us:101", "the exponent above 1"},
      {"mmpp,burst=.5", R"(burst: found ".5"; expected a number from 1 to 1000000)"},
      {"mmpp,burst-share=0", R"(burst-share: found "0"; expected a number from 0.000001 to 0.999999)"},
      {"mmpp,burst-share=1", R"(burst-share: found "1")"},
      {"mmpp,burst-length=5", R"(burst-length: found "5"; expected a time with its unit)"},
      {"mmpp,burst-length=0ns", "burst-length: found"},
      {"trace", "file: found no trace; expected file=PATH"},
      {"trace,file=", R"(file: found ""; expected the path of a trace)"},
      {"closed,clients=0", R"(clients: found "0"; expected a whole number from 1 to 1000000)"},
      {"closed,clients=1000001", R"(clients: found "1000001")"},
      {"closed,clients=1.5", R"(clients: found "1.5")"},
      {"closed,clients=99999999999999999999", "clients: found"},
      {"closed,think=exp:0us", "think: found"},
      {"fork-join,depth=0", "depth: found"},
      {"fork-join,depth=1000000,fanout=1000000", "expected trees of at most 1000000 tasks"},
      {"fork-join,depth=20,fanout=2", "depth: found trees of depth 20 and fanout 2"},
      {"ping-pong,pairs=-1", "pairs: found"},
      {"yield-ring,tasks=x", "tasks: found"},
      {"poisson,from=cpu", R"(from: found "cpu"; expected outside, worker, or cpu:N)"},
      {"poisson,from=cpu:65536", "from: found"},
      {"poisson,from=inside", "from: found"},
      {"poisson,data=node:", R"(data: found "node:"; expected none, submitter, random, or node:N)"},
      {"poisson,hinted",
       "hinted: found data=none; expected data=submitter, data=random or data=node:N with it"},
      {"poisson,data=random,hinted=yes", R"(hinted: found "yes"; expected the word alone, without a value)"},
      {"poisson,data=submitter,near-data", "near-data: found data=none or data=submitter"},
      {"poisson,data=random,near-data,from=worker",
       "near-data: found from=worker; expected from=outside with it"},
      {"poisson,class=urgent", R"(class: found "urgent"; expected normal, latency or background)"},
      {"poisson,x\x01\ny=1", R"("x??y": found an unknown key)"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const std::string error = error_of(r.text);
    CAPTURE(error);
    CHECK(contains(error, r.message));
    CHECK(std::ranges::count(error, '\n') == 0);
  }
}

TEST_CASE("workload: all errors are reported together") {
  const std::string error = error_of("mmmp,load=0,clients=0,nonsense,service=exp");
  CAPTURE(error);
  CHECK(std::ranges::count(error, '\n') == 4);
  for (const char* what :
       {"workload: found \"mmmp\"", "load: found", "clients: found", "\"nonsense\": found", "service: found"})
    CHECK(contains(error, what));
}

TEST_CASE("workload: hostile text is refused in a line of bounded length") {
  const std::string error =
      error_of("poisson," + std::string(1 << 20, 'x') + "=" + std::string(1 << 20, 'y'));
  CHECK(contains(error, "..."));
  CHECK(error.size() < 1000);
  CHECK(error_of("poisson,load=" + std::string(1 << 20, '9')).size() < 1000);
}

TEST_CASE("workload: a tree's work is that of all its tasks") {
  CHECK(mean_work_ns(parse_workload("poisson,service=exp:10us")) == 10'000);
  CHECK(mean_work_ns(parse_workload("fork-join,depth=3,fanout=4,service=fixed:1us")) ==
        (1 + 4 + 16 + 64) * 1000);
  CHECK(mean_work_ns(parse_workload("fork-join,depth=9,fanout=1,service=fixed:1us")) == 10'000);
  CHECK(mean_work_ns(parse_workload("mmpp,service=bimodal:10us:1ms:.5")) == 505'000);
  CHECK(mean_work_ns(parse_workload("trace,file=x")) == 0);
}
