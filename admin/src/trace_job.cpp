#include "trace_job.hpp"

#include "query.hpp"

#include <corewise/engine/trace.hpp>

#include <charconv>
#include <new>
#include <utility>

namespace corewise::admin {

using namespace std::chrono_literals;

namespace {

constexpr auto pause_without_memory = 10ms;
constexpr std::uint32_t longest_trace = 60; // seconds

} // namespace

std::variant<wanted_trace, std::string> read_wanted_trace(std::string_view query) {
  if (std::string why = why_refused(query, "GET /trace", {"engine=NAME", "seconds=5", "format=json"});
      !why.empty())
    return why;
  wanted_trace wanted;
  if (const auto seconds = parameter(query, "seconds")) {
    std::uint32_t number = 0;
    const auto [end, why] = std::from_chars(seconds->data(), seconds->data() + seconds->size(), number);
    if (why != std::errc() || end != seconds->data() + seconds->size() || number == 0 ||
        number > longest_trace)
      return "seconds is a whole number from 1 to 60\n";
    wanted.time = std::chrono::seconds{number};
  }
  if (const auto format = parameter(query, "format")) {
    if (*format != "json" && *format != "perfetto") return "format is perfetto or json\n";
    wanted.json = *format == "json";
  }
  return wanted;
}

trace_job::trace_job(const engine& e, wanted_trace wanted, std::function<void()> ended)
    : engine_(e),
      wanted_(wanted),
      ended_(std::move(ended)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

trace_job::~trace_job() { unwatched_.store(true, std::memory_order_relaxed); }

response trace_job::take() {
  thread_.join();
  if (file_.empty())
    return text_answer(http::status::service_unavailable, "there was no memory for the trace\n");
  return text_answer(http::status::ok, std::move(file_),
                     wanted_.json ? "application/json" : "application/octet-stream");
}

/// Takes the trace. Returns nothing after a stop.
std::string trace_job::file(const std::stop_token& stop) const {
  trace_session session(engine_);
  session.collect_for(wanted_.time, stop);
  if (stop.stop_requested()) return {};
  const engine_trace trace = session.finish();
  if (stop.stop_requested()) return {};
  return wanted_.json ? trace.to_json(stop) : trace.to_perfetto(stop);
}

void trace_job::run(const std::stop_token& stop) noexcept {
  try {
    file_ = file(stop);
  } catch (const std::bad_alloc&) {
    file_.clear();
  }
  while (!unwatched_.load(std::memory_order_relaxed)) try {
      return ended_();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(pause_without_memory);
    }
}

} // namespace corewise::admin
