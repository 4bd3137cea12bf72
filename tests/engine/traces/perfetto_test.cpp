#include "small_engine.hpp"

#include <corewise/engine/sleep.hpp>
#include <corewise/engine/task.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace corewise;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// Returns a message that protoc has printed: the values of each field, a number, a text or a message.
json message_of(std::istream& lines) {
  json made = json::object();
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string field;
    words >> field >> std::ws;
    if (field == "}") break;
    std::string rest;
    std::getline(words, rest);
    if (rest == "{")
      made[field].push_back(message_of(lines));
    else if (field.back() == ':')
      made[field.substr(0, field.size() - 1)].push_back(rest);
  }
  return made;
}

/// Returns a trace as protoc reads it; fails if there is a field that perfetto.proto does not have.
json decoded(const std::string& trace) {
  const std::string file = "perfetto_test." + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary) << trace;
  const std::string folder = COREWISE_SOURCE_DIR "/tests/engine/traces";
  const int status = std::system(("protoc --proto_path=" + folder + " --decode=corewise.Trace " + folder +
                                  "/perfetto.proto <" + file + " >" + file + ".txt")
                                     .c_str());
  REQUIRE(status == 0);
  std::ifstream text(file + ".txt");
  json made = message_of(text);
  std::remove(file.c_str());
  std::remove((file + ".txt").c_str());
  return made["packet"];
}

engine_trace busy_trace() {
  engine e(small_profile(2));
  trace_session session(e);
  for (int i = 0; i < 200; ++i) (void)e.submit([] { std::this_thread::sleep_for(10us); });
  for (int i = 0; i < 20; ++i)
    e.run([]() -> task<> { co_await sleep_for(10us); }(), {.name = "\"quoted\"\n"}).get();
  e.run([] { blocking([] { std::this_thread::sleep_for(1ms); }); }).get();
  e.drain();
  return session.finish();
}

/// What the packets of a trace say, checked on the way.
struct seen_trace {
  explicit seen_trace(const json& packets) {
    for (const json& p : packets) {
      CHECK(p.at("trusted_packet_sequence_id")[0] == "1");
      if (p.contains("clock_snapshot"))
        for (const json& c : p["clock_snapshot"][0]["clocks"]) clocks.insert(std::string(c["clock_id"][0]));
      if (p.contains("trace_packet_defaults"))
        default_clock = p["trace_packet_defaults"][0]["timestamp_clock_id"][0];
      if (p.contains("interned_data"))
        for (const json& n : p["interned_data"][0]["event_names"]) names[n["iid"][0]] = n["name"][0];
      if (p.contains("track_descriptor")) {
        const json& track = p["track_descriptor"][0];
        CHECK(tracks.insert(std::string(track["uuid"][0])).second);
        if (track.contains("parent_uuid")) CHECK(tracks.contains(track["parent_uuid"][0]));
      }
      if (p.contains("track_event")) add_event(p);
    }
  }

  void add_event(const json& p) {
    CHECK(p.at("sequence_flags")[0] == "2"); // it needs what was interned before
    const std::string at = p.at("timestamp")[0];
    CHECK(std::stoull(at) >= time);
    time = std::stoull(at);
    const json& e = p["track_event"][0];
    const std::string track = e.at("track_uuid")[0];
    CHECK(tracks.contains(track));
    const std::string type = e.at("type")[0];
    ++types[type];
    if (type == "TYPE_COUNTER") {
      CHECK(e.contains("counter_value"));
    } else if (type == "TYPE_SLICE_END") {
      REQUIRE(open[track] > 0);
      --open[track];
    } else {
      if (e.contains("name"))
        notices.insert(std::string(e["name"][0]));
      else
        CHECK(names.contains(e.at("name_iid")[0]));
      if (type == "TYPE_SLICE_BEGIN") ++open[track];
    }
    if (e.contains("flow_ids"))
      for (const json& id : e["flow_ids"]) CHECK(flows.insert(std::string(id)).second);
    if (e.contains("terminating_flow_ids"))
      for (const json& id : e["terminating_flow_ids"]) {
        CHECK(flows.contains(id)); // it begins before it ends
        CHECK(ended_flows.insert(std::string(id)).second);
      }
  }

  std::set<std::string> clocks;
  std::string default_clock;
  std::map<std::string, std::string> names; // by iid
  std::set<std::string> notices;            // what is said of the whole trace
  std::set<std::string> tracks;
  std::map<std::string, int> open; // slices, by track
  std::map<std::string, int> types;
  std::set<std::string> flows;
  std::set<std::string> ended_flows;
  std::uint64_t time = 0;
};

} // namespace

TEST_CASE("perfetto: packets have their sequence, clocks and names; slices close; flows have both ends") {
  const engine_trace trace = busy_trace();
  const json packets = decoded(trace.to_perfetto());
  const seen_trace seen(packets);
  CHECK(seen.default_clock == "3"); // the monotonic one
  CHECK(seen.clocks == std::set<std::string>{"3", "6"});
  for (const auto& [track, slices] : seen.open) CHECK(slices == 0);
  CHECK(seen.types.at("TYPE_SLICE_BEGIN") == seen.types.at("TYPE_SLICE_END"));
  CHECK(seen.types.at("TYPE_SLICE_BEGIN") >= 240);
  CHECK(seen.types.at("TYPE_COUNTER") > 0);
  CHECK(seen.flows == seen.ended_flows);
  CHECK(seen.flows.size() >= 240); // of each task one
  bool quoted = false;
  for (const auto& [iid, name] : seen.names)
    quoted = quoted || name.find(R"(\"quoted\"\n)") != std::string::npos;
  CHECK(quoted);
}

TEST_CASE("perfetto: a trace without events can be read") {
  CHECK_FALSE(decoded(engine_trace{}.to_perfetto()).empty());
}

TEST_CASE("perfetto: where events were lost, slices close all the same") {
  using kind = trace_event::kind;
  engine_trace t;
  t.threads = {{1, "one"}, {2, ""}};
  t.texts = {"a", "b"};
  const auto event = [](std::int64_t at, kind what, std::uint64_t task) {
    return trace_event{.at = std::chrono::nanoseconds{at}, .task = task, .text = 0, .what = what};
  };
  t.events = {event(1, kind::ended, 7),     event(2, kind::begun, 8),    event(3, kind::begun, 9),
              event(4, kind::unblocked, 0), event(5, kind::blocking, 0), event(6, kind::ended, 9),
              event(7, kind::woken, 0),     event(8, kind::queued, 11),  event(9, kind::queued, 12),
              event(10, kind::begun, 12),   event(11, kind::parked, 0)};
  const seen_trace seen(decoded(t.to_perfetto()));
  for (const auto& [track, slices] : seen.open) CHECK(slices == 0);
  CHECK(seen.flows.size() == 1);
  CHECK(seen.flows == seen.ended_flows);
  CHECK(nlohmann::json::accept(t.to_json()));
}

TEST_CASE("perfetto: a flow leads from where a task was stolen to where it begins") {
  using kind = trace_event::kind;
  engine_trace t;
  t.threads = {{1, "thief"}, {2, "victim"}};
  t.texts = {"a"};
  const auto event = [](std::int64_t at, kind what, std::uint64_t task) {
    return trace_event{
        .at = std::chrono::nanoseconds{at}, .task = task, .worker = 1, .text = 0, .what = what};
  };
  t.events = {event(1, kind::stolen, 7), event(2, kind::stolen, 8), // of 8 the beginning is not there
              event(3, kind::begun, 7), event(4, kind::ended, 7)};
  const seen_trace from_steal(decoded(t.to_perfetto()));
  CHECK(from_steal.flows.size() == 1);
  CHECK(from_steal.flows == from_steal.ended_flows);
  t.events.insert(t.events.begin(), event(0, kind::queued, 7));
  const seen_trace from_both(decoded(t.to_perfetto()));
  CHECK(from_both.flows.size() == 2); // from where it was submitted, too
  CHECK(from_both.flows == from_both.ended_flows);
}

TEST_CASE("perfetto: a trace says what it has not, and names that are not UTF-8 can be read") {
  engine_trace t;
  t.threads = {{1, "thr\xE9"
                   "ad"}};
  t.texts = {"n\xFF\"x"};
  t.events = {{.at = 5ns, .task = 7, .text = 0, .what = trace_event::kind::begun}};
  CHECK(seen_trace(decoded(t.to_perfetto())).notices.empty());
  t.full = true;
  t.lost = 12;
  const seen_trace seen(decoded(t.to_perfetto()));
  REQUIRE(seen.notices.size() == 1);
  CHECK(seen.notices.begin()->find("full after 1 events") != std::string::npos);
  CHECK(seen.notices.begin()->find("12 events lost") != std::string::npos);
  CHECK(seen.names.at("1").find("\\357\\277\\275") != std::string::npos); // U+FFFD, as protoc prints it
}

TEST_CASE("perfetto: a trace is not written to its end after a stop") {
  engine_trace t;
  t.threads = {{1, "a"}};
  t.events = {{.at = 5ns, .task = 7, .what = trace_event::kind::queued}};
  std::stop_source stop;
  CHECK_FALSE(t.to_json(stop.get_token()).empty());
  CHECK_FALSE(t.to_perfetto(stop.get_token()).empty());
  stop.request_stop();
  CHECK(t.to_json(stop.get_token()).empty());
  CHECK(t.to_perfetto(stop.get_token()).empty());
}
