#include "base/json_text.hpp"
#include "traces/picture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iterator>

// Source: Trace Event Format, Google, 2016.

namespace corewise {

namespace {

using detail::json_text;
using detail::trace_mark;

/// Writes the events of one trace. Times are in us.
class json_writer {
 public:
  json_writer(const engine_trace& of, const detail::trace_picture& picture)
      : of_(of),
        text_(fmt::format(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"clock\":\"monotonic\",\"lost\":{},\"full\":{}}},"
            "\"traceEvents\":[",
            of.lost, of.full)) {
    for (const std::string& name : picture.names) names_.push_back(json_text(name));
  }

  void add_threads() {
    for (const trace_thread& t : of_.threads)
      line(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}})", pid_, t.id,
           json_text(t.name.empty() ? fmt::format("thread {}", t.id) : t.name));
  }

  void add(const trace_mark& m) {
    const double us = static_cast<double>(m.at.count()) / 1000;
    if (m.what == trace_mark::sort::counter)
      return line(R"("ph":"C","name":"load of worker {}","pid":{},"ts":{:.3f},"args":{{"tasks":{}}})",
                  m.thread, pid_, us, m.value);
    const std::uint32_t tid = of_.threads[m.thread].id;
    const auto in = fmt::format(R"("pid":{},"tid":{},"ts":{:.3f})", pid_, tid, us);
    const std::string& name = names_[m.name];
    switch (m.what) {
    case trace_mark::sort::begin: line(R"("ph":"B","name":{},{})", name, in); break;
    case trace_mark::sort::end: line(R"("ph":"E","name":{},{})", name, in); break;
    case trace_mark::sort::point: line(R"("ph":"i","s":"t","name":{},{})", name, in); break;
    case trace_mark::sort::counter: break;
    }
    if (m.leads != 0) line(R"("ph":"s","cat":"way","name":"way","id":{},{})", m.leads, in);
    for (const std::uint64_t arrow : m.arrives)
      if (arrow != 0) line(R"("ph":"f","bp":"e","cat":"way","name":"way","id":{},{})", arrow, in);
  }

  std::string finish() {
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  template <class... Args> void line(fmt::format_string<Args...> text, Args&&... args) {
    text_ += text_.ends_with('[') ? "\n{" : ",\n{";
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    text_ += '}';
  }

  const engine_trace& of_;
  const int pid_ = ::getpid();
  std::vector<std::string> names_; // quoted
  std::string text_;
};

} // namespace

std::string engine_trace::to_json(const std::stop_token& stop) const {
  const detail::trace_picture picture(*this);
  json_writer out(*this, picture);
  out.add_threads();
  for (const trace_mark& m : picture.marks) {
    if (stop.stop_requested()) return {};
    out.add(m);
  }
  return out.finish();
}

} // namespace corewise
