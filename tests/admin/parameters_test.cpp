// Tests of the parameters of requests.

#include "admin_server.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace corewise;
using namespace corewise::tests;

TEST_CASE("admin: a change of the profile with a parameter that is mistyped, or there twice, is refused") {
  served on(parse_profile("workers: {pin: none}\n"));
  const auto put = [&](const std::string& query) {
    return on.control("PUT /profile?" + query, "workers: {pin: none}\nqueues: {budget: 77}\n");
  };
  for (const char* query :
       {"revert-after=60s", "Revert_after=60s", "revert_after", "revert_after&x", "revert%5Fafter=60s",
        "engines=x", "=60s", "revert_after=60s&revert-after=60s", "revert_after=60s&revert_after=60s",
        "&revert_afte=60s", "revert_after=60s&revert_after"}) {
    CAPTURE(query);
    const std::string refused = put(query);
    CHECK(is(refused, 400));
    CHECK(has(refused, "; PUT /profile takes engine=NAME, revert_after=60s\n"));
  }
  CHECK(on.e.configuration().queues.budget == profile{}.queues.budget);
  CHECK(has(put("revert-after=60s"), "found the parameter revert-after, which is not known"));
  CHECK(has(put("revert_after"), "found the parameter revert_after, without a value"));
  CHECK(has(put("revert_after=1s&revert_after=2s"), "found the parameter revert_after, twice"));
  CHECK(is(put("revert_after=60s&"), 200));
  CHECK(is(put(""), 200));
  CHECK(on.e.configuration().queues.budget == 77);
}

TEST_CASE("admin: a parameter that a request does not know is refused with those that it knows") {
  const served on(small(1));
  for (const char* path : {"/", "/metrics", "/load", "/topology", "/live", "/dump", "/profile", "/trace"}) {
    CAPTURE(path);
    for (const char* query : {"second=1", "Engine=x", "revert_after=60s", "engine"}) {
      CAPTURE(query);
      const std::string refused = on.control(std::string("GET ") + path + "?" + query);
      CHECK(is(refused, 400));
      CHECK(has(refused, std::string("; GET ") + path + " takes engine=NAME"));
    }
  }
  CHECK(is(on.read("GET /health/live?verbose"), 200)); // a refusal would tell a probe that the server is dead
  CHECK(has(on.control("GET /trace?second=1"), "engine=NAME, seconds=5, format=json"));
  CHECK(is(on.control("GET /trace?seconds=1&seconds=1"), 400));
  CHECK(has(on.read("GET /metrics?details=sums"), "engine=NAME, detail=sums"));
  CHECK(is(on.read("HEAD /metrics?details=sums"), 400));
  CHECK(is(on.read("GET /metrics?detail=sums"), 200));
  CHECK(is(on.read("GET /nothing?second=1"), 404));
  CHECK(is(on.read("PUT /metrics?second=1"), 405));
}
