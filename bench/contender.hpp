#pragma once

#include <axes/rounds.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// The parts that all contenders' programs share: the options, the measuring, and the one line of JSON. Such a
// program measures one workload once; bench/run takes turns between many of them.

namespace corewise::bench {

/// The options of a program.
struct options {
  std::uint32_t workers = 2;
  std::uint32_t rounds = 5;
  std::uint64_t size = 0;  ///< the workload gives it its meaning
  std::string profile;     ///< a file, for corewise; empty: the defaults
  std::string kind;        ///< for programs that have both: closure or coroutine
  double slowed = 1;       ///< how many times as long each pass is made to take
  bool spoiled = false;    ///< whether results are made wrong
  std::string_view figure; ///< which figure, where a workload has several
};

/// Reads `--workers N` and so on, each with a value. On wrong usage it prints the error, and the program ends
/// with 2.
inline options options_of(int count, char** words, std::uint64_t usual_size) {
  options o;
  o.size = usual_size;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = words[i];
    const char* const value = i + 1 < count ? words[i + 1] : "";
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (name == "--workers")
      o.workers = static_cast<std::uint32_t>(number());
    else if (name == "--rounds")
      o.rounds = static_cast<std::uint32_t>(number());
    else if (name == "--size")
      o.size = number();
    else if (name == "--profile")
      o.profile = value;
    else if (name == "--kind")
      o.kind = value;
    else if (name == "--figure")
      o.figure = value;
    else if (name == "--slowed")
      o.slowed = std::strtod(value, nullptr);
    else if (name == "--spoiled")
      o.spoiled = value == std::string_view("yes");
    else
      o.workers = 0;
  }
  if (o.workers == 0 || o.rounds == 0 || o.size == 0 || !(o.slowed >= 1)) {
    std::fputs("usage: PROGRAM [--workers N] [--rounds N] [--size N] [--figure NAME] [--profile FILE]\n"
               "               [--kind closure|coroutine] [--slowed FACTOR] [--spoiled yes]\n",
               stderr);
    std::exit(2);
  }
  return o;
}

/// The contender that the line is about.
struct contender {
  std::string workload;
  std::string_view name;
  std::string_view kind; ///< closure or coroutine
  std::string profile = {};
};

inline void print_head(const contender& who, const options& o, const char* unit) {
  std::printf(R"({"workload": "%s", "contender": "%s", "profile": "%s", "workers": %u, "size": %llu, )"
              R"("unit": "%s", "kind": "%s")",
              who.workload.c_str(), std::string(who.name).c_str(), who.profile.c_str(), o.workers,
              static_cast<unsigned long long>(o.size), unit, std::string(who.kind).c_str());
}

/// Does nothing for `d`, and keeps the thread busy with it.
inline void burn(std::chrono::nanoseconds d) {
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - began < d) {
  }
}

/// Works for so much of the thread's CPU time, however often it is interrupted.
inline void work(std::chrono::nanoseconds cpu) {
  const auto used = [] {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  const auto until = used() + cpu;
  while (used() < until) {
  }
}

/// How many operations were seen done, and how many there were.
struct tally {
  std::uint64_t seen;
  std::uint64_t right;
};

/// A figure that the line has beside the compared one.
struct column {
  const char* name;
  double value;
};

/// Ends the line that `print_head` began, and the program. Returns the program's exit status. For a wrong
/// result it prints no line.
inline int print_tail(const contender& who, const options& o, std::uint64_t ops, tally done,
                      const std::vector<column>& more) {
  if (!more.empty()) std::fputs(R"(, "columns": {)", stdout);
  for (std::size_t i = 0; i < more.size(); ++i)
    std::printf(R"(%s"%s": %.3f)", i == 0 ? "" : ", ", more[i].name, more[i].value);
  std::printf(R"(%s, "rounds": %u, "ops": %llu, "checksum": %llu})"
              "\n",
              more.empty() ? "" : "}", o.rounds, static_cast<unsigned long long>(ops),
              static_cast<unsigned long long>(done.seen));
  if (done.seen == done.right) return 0;
  std::fprintf(stderr, "%s, %s: a wrong result; the last is %llu, right is %llu\n", who.workload.c_str(),
               std::string(who.name).c_str(), static_cast<unsigned long long>(done.seen),
               static_cast<unsigned long long>(done.right));
  return 1;
}

/// The quantile of sorted values: the nearest of the values there are.
inline double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(std::lround(part * static_cast<double>(sorted.size() - 1)))];
}

/// Prints a program's line with quantiles of single samples, in us. Returns its exit status.
inline int print_samples(const contender& who, const options& o, std::vector<double> values, tally done,
                         const std::vector<column>& more = {}) {
  std::ranges::sort(values);
  print_head(who, o, "us");
  std::printf(R"(, "median": %.3f, "p10": %.3f, "p90": %.3f, "p99": %.3f, "p999": %.3f)",
              quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9), quantile(values, 0.99),
              quantile(values, 0.999));
  done.seen += o.spoiled ? 1 : 0;
  return print_tail(who, o, values.size(), done, more);
}

/// Prints a program's line with one figure, which a process has once. Returns its exit status.
inline int print_figure(const contender& who, const options& o, const char* unit, double value, tally done,
                        const std::vector<column>& more = {}) {
  print_head(who, o, unit);
  std::printf(R"(, "median": %.3f, "p10": %.3f, "p90": %.3f)", value, value, value);
  done.seen += o.spoiled ? 1 : 0;
  return print_tail(who, o, 1, done, more);
}

/// Measures `pass()`, which does `ops` operations, and prints the line. Returns the program's exit status.
/// `checked(answer of a pass)`, which is not in the time, is compared with `right`.
template <class Pass, class Checked = std::identity>
int measure(const contender& who, const options& o, std::uint64_t ops, std::uint64_t right, Pass pass,
            Checked checked = {}) {
  std::uint64_t last = 0;
  const auto seen = [&](std::uint64_t answer) {
    last = checked(answer) + (o.spoiled ? 1 : 0);
    return last == right ? ops : 0;
  };
  const auto slowed = [&] {
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t answer = pass();
    if (o.slowed > 1) {
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
      burn(std::chrono::nanoseconds(static_cast<std::int64_t>(took.count() * (o.slowed - 1))));
    }
    return answer;
  };
  try {
    const command::measured result = command::measure_rounds(ops, slowed, seen, o.rounds);
    print_head(who, o, "ns/op");
    std::printf(R"(, "median": %.3f, "p10": %.3f, "p90": %.3f, "rounds": %u, "ops": %llu, "checksum": %llu})"
                "\n",
                result.quantile(0.5), result.quantile(0.1), result.quantile(0.9), o.rounds,
                static_cast<unsigned long long>(result.ops), static_cast<unsigned long long>(last));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s, %s: %s; the last result is %llu, right is %llu\n", who.workload.c_str(),
                 std::string(who.name).c_str(), error.what(), static_cast<unsigned long long>(last),
                 static_cast<unsigned long long>(right));
    return 1;
  }
}

} // namespace corewise::bench
