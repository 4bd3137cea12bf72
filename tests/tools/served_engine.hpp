#pragma once

#include "shell.hpp"

#include <corewise/admin/server.hpp>
#include <corewise/engine/engine.hpp>
#include <corewise/engine/metrics.hpp>
#include <corewise/engine/profile_text.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <semaphore>
#include <string>
#include <thread>

namespace corewise::tests {

inline const std::string two_workers =
    "topology: {source: {synthetic: \"core:2 pu:1\"}}\nworkers: {pin: none}\n";

/// An engine of two workers and its admin server, whose control socket is "c.sock" in the shell's directory.
struct served {
  served() : engine(made_profile()), server(engine, made_options()) {}
  /// The same with a token, which is in the file "token" in the shell's directory.
  explicit served(const std::string& token) : engine(made_profile()), server(engine, made_options(token)) {}
  ~served() { go_on.release(100); }
  served(const served&) = delete;
  served& operator=(const served&) = delete;

  static corewise::profile made_profile() {
    return corewise::parse_profile(two_workers + "blocking: {stuck_after: 50ms}\n");
  }
  corewise::admin::options made_options() const {
    corewise::admin::options o;
    o.control = shell.directory() / "work/c.sock";
    o.read_only = "127.0.0.1:0";
    return o;
  }
  corewise::admin::options made_options(const std::string& token) const {
    shell.write("token", token + "\n");
    corewise::admin::options o = made_options();
    o.token = shell.directory() / "work/token";
    o.changes_by_tcp = true;
    return o;
  }
  /// Runs `corewise COMMAND --connect ...`, with the control socket and with the read-only address.
  outcome control(const std::string& command) const {
    return shell.run("corewise " + command + " --connect c.sock");
  }
  outcome read(const std::string& command) const {
    return shell.run("corewise " + command + " --connect 127.0.0.1:" + std::to_string(server.port()));
  }
  /// Makes a task stand, and waits until the engine knows.
  void stand(const char* name) {
    REQUIRE(engine.submit([this] { go_on.acquire(); }, {.name = name}) == corewise::submit_result::accepted);
    const auto before = engine.metrics().total().standing;
    while (engine.metrics().total().standing == before)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  scratch_shell shell;
  std::counting_semaphore<> go_on{0};
  corewise::engine engine;
  corewise::admin::server server;
};

} // namespace corewise::tests
