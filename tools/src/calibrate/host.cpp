#include "host.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>

namespace corewise::command {

namespace {

std::string text_of_file(const char* file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

double ticks_of(const timeval& t) {
  return (static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6) *
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::optional<spent_time> spent() {
  std::ifstream stat("/proc/stat");
  std::string word;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double waiting = 0;
  double irq = 0;
  double softirq = 0;
  double stolen = 0;
  if (!(stat >> word >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> stolen))
    return std::nullopt;
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  return spent_time{user + nice + system + irq + softirq, stolen,
                    ticks_of(own.ru_utime) + ticks_of(own.ru_stime)};
}

std::string date() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min);
}

/// Smaller shares of a CPU than these are not worth a word.
constexpr double others_to_tell = 0.05;
constexpr double stolen_to_tell = 0.01;

void add_neighbours(std::vector<std::string>& doubts, const spent_time& before, const spent_time& after,
                    double seconds) {
  const double ticks = seconds * static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double others = ((after.busy - before.busy) - (after.own - before.own)) / ticks;
  const double stolen = (after.stolen - before.stolen) / ticks;
  if (others > others_to_tell)
    doubts.push_back(fmt::format("other programs used {:.2f} CPUs meanwhile", others));
  if (stolen > stolen_to_tell)
    doubts.push_back(fmt::format("the hypervisor took {:.2f} CPUs away meanwhile", stolen));
}

/// Returns whether the kernel lists the feature that hypervisors show to their guests.
bool is_virtual(const std::string& cpuinfo) { return cpuinfo.find(" hypervisor") != std::string::npos; }

} // namespace

std::string cpu_model_in(const std::string& cpuinfo) {
  static constexpr std::string_view key = "model name";
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    std::string model = line.substr(colon + 2);
    for (char& c : model)
      if (c < ' ' || c > '~') c = '?';
    return model;
  }
  return "";
}

host_watch::host_watch() : before_(spent()) {}

host_facts host_watch::facts(const topology& machine) const {
  const std::string cpuinfo = text_of_file("/proc/cpuinfo");
  host_facts facts{date(), cpu_model_in(cpuinfo), {}};
  if (is_virtual(cpuinfo))
    facts.doubts.emplace_back(
        "a virtual machine: the caches that its CPUs share and the places of its CPUs are unknown");
  if (const auto quota = machine.limits().quota_cpus)
    facts.doubts.push_back(fmt::format("this process has a quota of {:.2f} CPUs", *quota));
  if (const auto after = spent(); before_ && after)
    add_neighbours(facts.doubts, *before_, *after, ns_between(begin_, now()) * 1e-9);
  return facts;
}

} // namespace corewise::command
