#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;

TEST_CASE("corewise fleet: there is a row for each load and rule, the same each time") {
  const std::string command = "corewise fleet --seconds 5 --seeds 2 --load .5,.9 --rule leastconn,prequal";
  const outcome o = run(command);
  CAPTURE(o.out);
  CHECK(o.status == 0);
  CHECK(o.err.empty());
  CHECK(count_of("\n", o.out) == 5);
  CHECK(count_of("leastconn ", o.out) == 2);
  CHECK(count_of("prequal ", o.out) == 2);
  CHECK(count_of("  1.00  ", o.out) == 2); // the first rule, beside itself
  CHECK(run(command).out == o.out);
}

TEST_CASE("corewise fleet: too much work is refused, or expires, in figures that add up to what came") {
  const outcome o =
      run("corewise fleet --seconds 5 --seeds 1 --load 2 --rule random2 --deadline-ms 100 --in-flight 20");
  CAPTURE(o.out);
  CHECK(o.status == 0);
  CHECK(contains(o.out, " 2.00  random2 "));
  CHECK_FALSE(contains(o.out, " 100.0% "));
}

TEST_CASE("corewise fleet: options that make no sense are named") {
  for (const std::string options : {"--rule best",
                                    "--load 0",
                                    "--servers 0",
                                    "--slow-speed 2",
                                    "--service-ms 0",
                                    "--seeds 0",
                                    "--places 0",
                                    "--balancers 0",
                                    "--load nan",
                                    "--load .5,inf",
                                    "--slow-speed nan",
                                    "--service-ms nan",
                                    "--service-ms 1e300",
                                    "--service-ms inf",
                                    "--seconds nan",
                                    "--seconds 1e300",
                                    "--seconds -1",
                                    "--slow-phase-s nan",
                                    "--slow-phase-s -1",
                                    "--slow-phase-s 1e300",
                                    "--deadline-ms nan",
                                    "--deadline-ms inf",
                                    "--deadline-ms -1",
                                    "--deadline-ms 1e300",
                                    "--slow-places 4294967295",
                                    "--slow-places 0",
                                    "--in-flight 4294967295",
                                    "--seed -5",
                                    "--seed 9223372036854775808",
                                    "--seed 99999999999999999999"}) {
    CAPTURE(options);
    const outcome wrong = run("corewise fleet " + options);
    CHECK(wrong.status == 2);
    CHECK(wrong.out.empty());
    CHECK(contains(wrong.err, options.substr(0, options.find(' '))));
    CHECK(wrong.err.size() < 200);
  }
}

TEST_CASE("corewise fleet: too many requests at one load are said before the runs at the others") {
  const outcome wrong =
      run("corewise fleet --seconds 1 --seeds 1 --service-ms .01 --load .01,100 --rule random2");
  CHECK(wrong.status == 1);
  CHECK(wrong.out.empty());
  CHECK(contains(wrong.err, "at most 1,000,000,000 requests"));
}

TEST_CASE("corewise fleet: the least and the most of an option are taken") {
  for (const std::string options : {"--seed 9223372036854775807", "--slow-places 1000", "--in-flight 0",
                                    "--deadline-ms 3.6e6", "--slow-phase-s 1e6", "--deadline-ms 1e-6"}) {
    CAPTURE(options);
    const outcome o = run("corewise fleet --seconds .5 --seeds 2 --load .5 --rule random2 " + options);
    CHECK_MESSAGE(o.status == 0, o.err);
    CHECK(count_of("\n", o.out) == 2);
  }
}
