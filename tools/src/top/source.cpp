#include "source.hpp"

#include "recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace corewise::command {

using std::chrono::steady_clock;

namespace {

/// A recorded file.
class replay_source final : public reading_source {
 public:
  explicit replay_source(const std::string& file) : from_(file) {}
  std::string name() const override { return from_.name() + " (recorded)"; }
  std::optional<reading> next() override { return from_.next(); }

 private:
  replay from_;
};

/// A running engine.
class live_source final : public reading_source {
 public:
  live_source(const admin_address& address, std::string record)
      : from_(address),
        record_(std::move(record)) {}
  std::string name() const override { return from_.name(); }
  std::optional<reading> next() override {
    const json seen = look();
    const reading r = reading_in(seen);
    if (!to_ && !record_.empty()) to_.emplace(record_); // not before there is an engine
    if (to_) to_->add(seen);
    return r;
  }

 private:
  /// Returns the answer's body. Throws `reading_error` for an answer that is none.
  std::string ask(std::string_view target, std::string_view accept, unsigned also = 200) const {
    reply answer = from_.get(target, accept);
    if (answer.status == 200 || answer.status == also) return std::move(answer.body);
    throw reading_error(text_of_refusal(answer, from_, target));
  }
  json ask_for_json(std::string_view target) const { return parsed(ask(target, "application/json"), target); }
  json parsed(const std::string& text, std::string_view target) const {
    json answer = json::parse(text, nullptr, false);
    if (!answer.is_discarded()) return answer;
    throw reading_error(
        fmt::format("{}: {} is no JSON; is the daemon's corewise older?", from_.address(), target));
  }

  /// Asks for what a recording has.
  json look() const {
    json metrics = ask_for_json("/metrics?detail=groups");
    if (const auto engines = metrics.find("engines"); engines != metrics.end()) {
      std::string names;
      for (const auto& [name, numbers] : engines->items()) names += ' ' + name;
      throw reading_error(fmt::format("{}: there are several engines; name one of them with --engine:{}",
                                      from_.address(), names));
    }
    const std::chrono::duration<double> since_begin = steady_clock::now() - begin_;
    json reasons = json::array();
    const std::string health = ask("/health/ready", "text/plain", 503);
    for (std::size_t at = health.find('\n'); at != std::string::npos && at + 1 < health.size();) {
      const std::size_t end = health.find('\n', at + 1);
      reasons.push_back(health.substr(at + 1, end - at - 1));
      at = end;
    }
    json stuck = stuck_in(metrics);
    return {{"at_seconds", begin_at_.count() + since_begin.count()},
            {"reasons", std::move(reasons)},
            {"metrics", std::move(metrics)},
            {"stuck", std::move(stuck)}};
  }

  /// Returns the seats with stuck tasks; null where names are not shown.
  json stuck_in(const json& metrics) const {
    if (!from_.is_control() && !from_.has_token()) return {};
    json found = json::array();
    if (!stands(metrics)) return found;
    const reply answer = from_.get("/dump", "application/json");
    if (answer.status == 404 && !from_.is_control()) return {}; // the token lets this network only read
    if (answer.status != 200) throw reading_error(text_of_refusal(answer, from_, "/dump"));
    json dump = parsed(answer.body, "/dump");
    for (json& seat : dump["seats"])
      if (seat.value("stuck", false)) found.push_back(std::move(seat));
    return found;
  }

  /// Returns whether any task is stuck: only then is there something to ask a dump for.
  static bool stands(const json& metrics) {
    const reading r = reading_of(metrics);
    return std::ranges::any_of(r.groups, [](const group_reading& g) { return g.standing != 0; });
  }

  admin_client from_;
  std::string record_; // a file's name; may be empty
  std::optional<recording> to_;
  // The clock of the day may be set back meanwhile.
  const steady_clock::time_point begin_ = steady_clock::now();
  const std::chrono::duration<double> begin_at_ = std::chrono::system_clock::now().time_since_epoch();
};

} // namespace

std::unique_ptr<reading_source> recorded_readings(const std::string& file) {
  return std::make_unique<replay_source>(file);
}

std::unique_ptr<reading_source> live_readings(const admin_address& address, const std::string& record) {
  return std::make_unique<live_source>(address, record);
}

} // namespace corewise::command
