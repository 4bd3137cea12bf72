#include "recording.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

namespace corewise::command {

namespace {

constexpr std::size_t longest_line = std::size_t{64} << 20;

[[noreturn]] void fail(const std::string& file) {
  throw std::system_error(errno, std::generic_category(), file);
}

} // namespace

reading reading_in(const json& line) {
  if (!line.is_object()) throw reading_error("this is no reading in JSON");
  const json nothing;
  const auto part = [&](const char* key) -> const json& {
    const auto found = line.find(key);
    return found == line.end() ? nothing : *found;
  };
  reading r = reading_of(part("metrics"));
  const json& at = part("at_seconds");
  r.at_s = at.is_number() ? at.get<double>() : -1;
  if (!std::isfinite(r.at_s) || r.at_s < 0 || r.at_s > 1e11) throw reading_error("`at_seconds` is no time");
  for (const json& reason : part("reasons"))
    if (reason.is_string()) r.reasons.push_back(reason.get<std::string>());
  if (const json& stuck = part("stuck"); !stuck.is_null()) r.stuck = stuck_tasks_of({{"seats", stuck}});
  return r;
}

recording::recording(std::string file)
    : file_(std::move(file)),
      fd_(::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (fd_ < 0) fail(file_);
}

recording::~recording() { ::close(fd_); }

void recording::add(const json& recorded) const {
  const std::string line = recorded.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(fd_, line.data() + at, line.size() - at);
    if (written < 0 && errno != EINTR) fail(file_);
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

replay::replay(std::string file)
    : name_(file == "-" ? "standard input" : file),
      in_(file == "-" ? "/dev/stdin" : file, std::ios::binary) {
  if (!in_) fail(name_);
}

std::optional<std::string> replay::next_line() {
  std::string line;
  errno = 0;
  for (char c = 0; in_.get(c) && c != '\n'; line += c)
    if (line.size() == longest_line) throw reading_error("the line is too long");
  if (in_.bad() || (line.empty() && errno == EISDIR)) fail(name_);
  if (line.empty() && in_.eof()) return std::nullopt;
  return line;
}

std::optional<reading> replay::next() try {
  ++line_;
  const auto line = next_line();
  if (!line) return std::nullopt;
  reading r = reading_in(json::parse(*line, nullptr, false));
  if (r.at_s <= last_s_) throw reading_error("this reading is not later than the one before it");
  last_s_ = r.at_s;
  return r;
} catch (const reading_error& error) {
  throw reading_error(fmt::format("{}:{}: {}", name_, line_, error.what()));
}

} // namespace corewise::command
