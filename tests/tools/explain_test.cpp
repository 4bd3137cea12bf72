#include "shell.hpp"

#include <doctest/doctest.h>

using namespace corewise::tests;
using nlohmann::json;

namespace {

/// Asks about the machine of two sockets: workers 0-7 and 16-23 sit on P-cores, 8-15 and 24-31 on E-cores.
class two_socket_shell {
 public:
  two_socket_shell() { shell_.write("machine.yaml", two_sockets); }

  outcome explain(const std::string& state, const std::string& options = "") const {
    shell_.write("state.json", state);
    return shell_.run("corewise explain --machine machine.yaml --state state.json " + options);
  }
  /// The answer of another policy, in text.
  std::string told_by(const std::string& policy, const std::string& state) const {
    const outcome explained = explain(state, with(policy));
    CHECK_MESSAGE(explained.status == 0, explained.err);
    return explained.out;
  }
  json answer_of(const std::string& policy, const std::string& state) const {
    return answer(state, with(policy));
  }
  json answer(const std::string& state, const std::string& options = "") const {
    const outcome explained = explain(state, "--format json " + options);
    CHECK_MESSAGE(explained.status == 0, explained.err);
    return json::parse(explained.out, nullptr, false);
  }

 private:
  std::string with(const std::string& policy) const {
    shell_.write("policy.yaml", "version: 1\ndispatch: {policy: " + policy + "}\n");
    return "--profile policy.yaml";
  }

  scratch_shell shell_;
};

/// Writes {"0": n, ...} for the workers from `first` to `last`.
std::string loads(int first, int last, int n) {
  json load;
  for (int w = first; w <= last; ++w) load[std::to_string(w)] = n;
  return load.dump();
}

json joined(std::initializer_list<std::string> objects) {
  json all = json::object();
  for (const std::string& o : objects) all.update(json::parse(o));
  return all;
}

} // namespace

TEST_CASE("the answer in JSON has exactly the keys that are documented") {
  const json answer = two_socket_shell().answer(R"({"origin": {"cpu": 5}})");
  CHECK(keys_of(answer) ==
        std::set<std::string>{"worker", "group", "level", "score", "cost", "reason", "considered"});
  REQUIRE(answer["considered"].size() == 4);
  for (const json& c : answer["considered"])
    CHECK(keys_of(c) == std::set<std::string>{"group", "lightest", "score", "penalty"});
}

TEST_CASE("on an idle machine a task from outside goes to a P-core of its own socket") {
  const two_socket_shell shell;
  for (const int cpu : {0, 7, 8, 15})
    CHECK(shell.answer(R"({"origin": {"cpu": )" + std::to_string(cpu) + "}}")["group"] == 0);
  for (const int cpu : {16, 24, 31}) {
    const json answer = shell.answer(R"({"origin": {"cpu": )" + std::to_string(cpu) + "}}");
    CHECK(answer["group"] == 2);
    CHECK(answer["level"] == 0);
    CHECK(answer["score"] == 1.0);
    CHECK(answer["cost"] == 1.0);
  }
}

TEST_CASE("an E-core gets a task exactly at the load that the rule names") {
  const two_socket_shell shell;
  const auto group_at = [&](int p_load) {
    return shell.answer(R"({"origin": {"cpu": 0}, "load": )" + loads(0, 7, p_load) + "}")["group"];
  };
  CHECK(group_at(0) == 0); // P costs 1, E 2
  CHECK(group_at(1) == 0); // equal: the higher capacity
  CHECK(group_at(2) == 1); // P costs 3
}

TEST_CASE("a task crosses the socket only past the cost of crossing") {
  const two_socket_shell shell;
  const auto group_at = [&](int p_load) {
    const json load = joined({loads(0, 7, p_load), loads(8, 15, 100)});
    return shell.answer(R"({"origin": {"cpu": 0}, "load": )" + load.dump() + "}")["group"];
  };
  CHECK(group_at(15) == 0); // 16 against 1 + 16
  CHECK(group_at(16) == 0); // 17 against 17: the lower level
  CHECK(group_at(17) == 2);
}

TEST_CASE("the average task time scales the cost of distance") {
  const two_socket_shell shell;
  const std::string load = joined({loads(0, 7, 10), loads(8, 15, 100)}).dump();
  CHECK(shell.answer(R"({"origin": {"cpu": 0}, "load": )" + load + "}")["group"] == 0);
  const json longer = shell.answer(R"({"origin": {"cpu": 0}, "task_time_ns": 500000, "load": )" + load + "}");
  CHECK(longer["group"] == 2);
  CHECK(longer["cost"].get<double>() == doctest::Approx(1 + 1.6));
}

TEST_CASE("a worker's own queue has no cost of distance") {
  const json answer = two_socket_shell().answer(R"({"origin": {"worker": 3}, "load": {"3": 1}})");
  CHECK(answer["worker"] == 3);
  CHECK(answer["level"] == 0);
  CHECK(answer["cost"] == 2.0);
}

TEST_CASE("workers in blocking calls are left out, unless all workers are") {
  const two_socket_shell shell;
  CHECK(shell.answer(R"({"origin": {"cpu": 0}, "blocking": [0, 1, 2]})")["worker"] == 3);
  json all;
  for (int w = 0; w < 32; ++w) all.push_back(w);
  CHECK(shell.answer(R"({"origin": {"cpu": 0}, "blocking": )" + all.dump() + "}")["group"] == 0);
}

TEST_CASE("a hint uses the machine's own numbers and names, and the policy follows it") {
  const two_socket_shell shell;
  const auto hinted = [&](const std::string& hint) {
    return shell.answer(R"({"origin": {"cpu": 0}, "hint": )" + hint + "}");
  };
  CHECK(hinted(R"({"kind": "E"})")["group"] == 1);
  CHECK(hinted(R"({"kind": "E"})")["reason"] == "hinted");
  CHECK(hinted(R"({"package": 1})")["group"] == 2);
  CHECK(hinted(R"({"node": 1, "kind": "E"})")["group"] == 3);
  CHECK(hinted(R"({"worker": 29})")["worker"] == 29);
  CHECK(hinted(R"({"group": 3})")["group"] == 3);
  CHECK(hinted("{}")["group"] == 0);
}

TEST_CASE("the seed draws the home of a task from outside without a CPU") {
  const two_socket_shell shell;
  std::set<int> groups;
  for (int seed = 1; seed <= 16; ++seed) {
    const std::string state = R"({"origin": {"outside": true}, "seed": )" + std::to_string(seed) + "}";
    const json answer = shell.answer(state);
    CHECK(answer == shell.answer(state));
    groups.insert(answer["group"].get<int>());
  }
  CHECK(groups == std::set<int>{0, 2});
}

TEST_CASE("where short tasks wait in rows, a task from outside goes to the worker of the submitter's core") {
  const two_socket_shell shell;
  const auto state = [](int own_load, int task_time_ns) {
    const json load = joined({loads(0, 31, 20), loads(5, 5, own_load)});
    return R"({"origin": {"cpu": 5}, "task_time_ns": )" + std::to_string(task_time_ns) + R"(, "load": )" +
           load.dump() + "}";
  };
  const json answer = shell.answer(state(39, 100));
  CHECK(answer["worker"] == 5);
  CHECK(answer["reason"] == "own_core");
  CHECK(answer["cost"] == 37.0); // by its level, which stands for 36 to 39
  REQUIRE(answer["considered"].size() == 5);
  CHECK(answer["considered"][0]["lightest"] == 0);
  CHECK(answer["considered"][4]["lightest"] == 5);
  CHECK(shell.answer(state(40, 100))["worker"] == 0);
  CHECK(shell.answer(state(39, 1001))["reason"] == "least_cost");
  const outcome told = shell.explain(state(39, 100));
  CHECK_MESSAGE(contains(told.out, "it is on the submitter's core, and has less than twice as many tasks"),
                told.out);
}

TEST_CASE("the text explains the place in sentences and a table") {
  const outcome explained =
      two_socket_shell().explain(R"({"origin": {"cpu": 0}, "load": )" + loads(0, 7, 2) + "}");
  CHECK(explained.status == 0);
  for (const std::string part :
       {"The task goes to worker 8 (group 1, E 512, CPU 8).", "from outside, on CPU 0",
        "home is the domain of group 0", "stays in its home domain", "cost 2", "lightest worker"})
    CHECK_MESSAGE(contains(explained.out, part), part, " in\n", explained.out);
}

TEST_CASE("lightest considers the worker with the fewest queued tasks of each group, and the text says so") {
  const two_socket_shell shell;
  const std::string state =
      R"({"origin": {"cpu": 0}, "load": )" + joined({loads(0, 31, 3), loads(20, 20, 2)}).dump() + "}";
  const json answer = shell.answer_of("lightest", state);
  CHECK(answer["worker"] == 20);
  CHECK(answer["level"] == 4);
  CHECK(answer["reason"] == "fewest_queued");
  CHECK(answer["cost"] == 1.0);
  REQUIRE(answer["considered"].size() == 4);
  CHECK(answer["considered"][0]["score"] == 2.0);
  CHECK(answer["considered"][2]["lightest"] == 20);
  CHECK(contains(shell.told_by("lightest", state), "no other worker has fewer tasks queued"));
  CHECK(contains(shell.told_by("lightest", state), "cost 1, in tasks queued."));
}

TEST_CASE("two_choices considers the two drawn workers") {
  const two_socket_shell shell;
  const json answer = shell.answer_of("two_choices", R"({"load": )" + loads(0, 31, 3) + "}");
  REQUIRE(answer["considered"].size() == 2);
  CHECK(answer["considered"][0]["lightest"] == answer["worker"]); // a tie
  CHECK(answer["considered"][0]["score"] == 2.0);
  CHECK(answer["considered"][1]["lightest"] != answer["worker"]);
}

TEST_CASE("a policy that compares nothing shows its choice and says so") {
  const two_socket_shell shell;
  for (const std::string policy : {"round_robin", "random", "local_first"}) {
    const std::string text = shell.told_by(policy, R"({"origin": {"cpu": 20}})");
    CHECK_MESSAGE(contains(text, "compares neither loads nor distances"), text);
    CHECK_FALSE(contains(text, "penalty"));
    CHECK(shell.answer_of(policy, "{}")["considered"].size() == 1);
  }
  CHECK(contains(shell.told_by("round_robin", "{}"), "this worker's turn"));
  CHECK(contains(shell.told_by("random", "{}"), "drawn at random"));
}

TEST_CASE(
    "local_first chooses the injection queue for a task from outside, and otherwise the submitting worker") {
  const two_socket_shell shell;
  const std::string text = shell.told_by("local_first", R"({"origin": {"cpu": 20}})");
  CHECK_MESSAGE(contains(text, "The task goes to the injection queue of group 2 (P 1024)."), text);
  CHECK_MESSAGE(contains(text, "worker 16"), text);
  CHECK(shell.answer_of("local_first", R"({"origin": {"cpu": 20}})")["reason"] == "injected");
  const json inside = shell.answer_of("local_first", R"({"origin": {"worker": 9}, "load": {"9": 40}})");
  CHECK(inside["worker"] == 9);
  CHECK(inside["reason"] == "kept_local");
}

TEST_CASE("a state can come from standard input") {
  CHECK(run("echo '{\"origin\": {\"worker\": 0}}' | corewise explain --machine 'core:2 pu:1' --state -")
            .status == 0);
}

TEST_CASE("an invalid state is refused with all of its errors") {
  const two_socket_shell shell;
  const auto refused = [&](const std::string& state, std::initializer_list<std::string> reasons) {
    CAPTURE(state);
    const outcome answer = shell.explain(state);
    CHECK(answer.status == 1);
    CHECK(answer.out.empty());
    for (const std::string& reason : reasons)
      CHECK_MESSAGE(contains(answer.err, reason), reason, " in\n", answer.err);
    CHECK(count_of("corewise: state.json: ", answer.err) == count_of("\n", answer.err));
  };
  refused("", {"not JSON"});
  refused("{", {"not JSON"});
  refused("{} x", {"not JSON"});
  refused("[]", {"expected an object"});
  refused(R"({"orgin": {}})", {"`orgin`", "origin"});
  refused(R"({"origin": {}})", {"origin: ", "\"worker\": N"});
  refused(R"({"origin": {"worker": 1, "cpu": 1}})", {"origin: "});
  refused(R"({"origin": {"worker": 32}})", {"origin.worker: found 32", "0 to 31"});
  refused(R"({"origin": {"cpu": 99}})", {"origin.cpu: found 99", "0-31"});
  refused(R"({"origin": {"outside": false}})", {"origin.outside"});
  refused(R"({"hint": {"kind": "Q", "package": 7, "node": "0"}})",
          {"hint.kind", "hint.package", "hint.node"});
  refused(R"({"load": {"0": -1, "1": 1.5, "02": 1, "99": 1, "x": 1}})",
          {"load.0", "load.1", "load.02", "load.99", "load.x"});
  refused(R"({"load": [1]})", {"load: "});
  refused(R"({"blocking": [1, 40]})", {"blocking: found 40"});
  refused(R"({"seed": "1", "task_time_ns": null, "task_time_ns": 1})", {"`task_time_ns` is there twice"});
  refused(R"({"seed": 18446744073709551616})", {"seed: "});
}

TEST_CASE("a state that is nested deeply is refused") {
  const two_socket_shell shell;
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  for (const std::string& state :
       {nested(100000), std::string(100000, '['), R"({"seed": )" + nested(32) + "}"}) {
    const outcome answer = shell.explain(state);
    CHECK(answer.status == 1);
    CHECK(answer.err == "corewise: state.json: more than 32 levels of nesting; a state has 3\n");
  }
  CHECK(contains(shell.explain(R"({"seed": )" + nested(31) + "}").err, "seed: found [[["));
}

TEST_CASE("a state file that cannot be read is named") {
  const outcome missing = run("corewise explain --state missing.json");
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "corewise: missing.json: No such file or directory"));
}
