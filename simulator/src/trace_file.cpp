#include "trace_file.hpp"

#include "time_limit.hpp"
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace corewise {

namespace {

using namespace simulated_words;

constexpr std::size_t longest_line = 1024;
constexpr std::uint64_t latest_ns = latest_time_ns - 1;
constexpr double longest_service_ns = 3600e9;
constexpr std::uint32_t most_nodes = 65535;

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

struct trace_fields {
  std::array<std::string_view, 4> text;
  std::size_t count = 0; ///< more than there are places when the line has too many
};

trace_fields split_line(std::string_view line) {
  trace_fields fields;
  for (;;) {
    const std::size_t end = line.find(',');
    if (fields.count < fields.text.size()) fields.text[fields.count] = without_blanks(line.substr(0, end));
    ++fields.count;
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

std::optional<task_class> read_class(std::string_view word) {
  for (const task_class c : {task_class::normal, task_class::latency, task_class::background})
    if (word == to_string(c)) return c;
  return std::nullopt;
}

} // namespace

trace_file::trace_file(std::filesystem::path file) : file_(std::move(file)), buffer_(longest_line, '\0') {
  errno = 0;
  in_.open(file_, std::ios::binary);
  std::error_code error;
  const bool directory = std::filesystem::is_directory(file_, error);
  if (!in_ || directory)
    throw workload_error(
        fmt::format("{}: {}", file_.string(),
                    std::generic_category().message(directory ? EISDIR : (errno != 0 ? errno : EIO))));
}

std::optional<arrival> trace_file::next() {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::string_view line;
  while (read_line(line)) {
    if (line_ == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    line = without_blanks(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (!begun_ && line.starts_with("time")) { // the names of the columns
      begun_ = true;
      continue;
    }
    begun_ = true;
    return read_arrival(line);
  }
  return std::nullopt;
}

bool trace_file::read_line(std::string_view& line) {
  ++line_;
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  auto length = static_cast<std::size_t>(in_.gcount());
  if (in_.bad()) refuse("cannot be read to its end");
  if (in_.fail() && length == 0) return false;
  if (in_.fail()) refuse(fmt::format("found a line of more than {} characters", longest_line - 2));
  if (!in_.eof()) --length; // the new line
  line = {buffer_.data(), length};
  return true;
}

arrival trace_file::read_arrival(std::string_view line) {
  const trace_fields fields = split_line(line);
  if (fields.count < 2 || fields.count > fields.text.size())
    refuse(fmt::format("found {}; expected time_ns,service_ns[,node][,class]", in_quotes(line)));
  const auto& [time, service, third, fourth] = fields.text;

  arrival a;
  const std::optional<std::uint64_t> at = read_count(time, latest_ns);
  if (!at)
    refuse(
        fmt::format("time_ns: found {}; expected a whole number from 0 to {}", in_quotes(time), latest_ns));
  a.time_ns = static_cast<std::int64_t>(*at);
  if (a.time_ns < last_ns_)
    refuse(fmt::format("time_ns: found {} after {}; expected times that ascend", a.time_ns, last_ns_));
  last_ns_ = a.time_ns;

  const std::optional<double> takes = read_number(service);
  if (!takes || *takes < 0 || *takes > longest_service_ns)
    refuse(fmt::format("service_ns: found {}; expected a number from 0 to 3600e9", in_quotes(service)));
  a.service_ns = *takes;

  // A class may stand in the node's place where no node is given.
  const bool class_only = fields.count == 3 && read_class(third).has_value();
  const std::string_view node = class_only ? std::string_view{} : third;
  const std::string_view run_as = class_only ? third : fourth;
  if (!node.empty()) {
    const std::optional<std::uint64_t> index = read_count(node, most_nodes);
    if (!index)
      refuse(fmt::format("node: found {}; expected a number from 0 to {}", in_quotes(node), most_nodes));
    a.node = static_cast<std::uint32_t>(*index);
  }
  if (!run_as.empty()) {
    a.run_as = read_class(run_as);
    if (!a.run_as)
      refuse(fmt::format("class: found {}; expected normal, latency or background", in_quotes(run_as)));
  }
  return a;
}

void trace_file::refuse(std::string_view what) const {
  throw workload_error(fmt::format("{}:{}: {}", file_.string(), line_, what));
}

} // namespace corewise
