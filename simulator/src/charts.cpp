#include <corewise/simulator/report.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace corewise {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t groups_with_names = 16;

/// Runs gnuplot and drops its output. Returns its wait status. Throws `chart_error` if it cannot be started.
int run_gnuplot(std::string argument) {
  std::string name = "gnuplot";
  const std::array<char*, 3> words{name.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t quietly;
  ::posix_spawn_file_actions_init(&quietly);
  ::posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int error = ::posix_spawnp(&child, name.c_str(), &quietly, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&quietly);
  int status = 0;
  while (error == 0 && ::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) error = errno;
  if (error == ENOENT)
    throw chart_error(
        "charts are drawn by gnuplot, which is not there; install it (Debian: apt install gnuplot-nox)");
  if (error != 0) throw chart_error("gnuplot cannot be run: " + std::generic_category().message(error));
  return status;
}

/// Quotes a text in gnuplot's single quotes, between which only the quote itself has a meaning.
std::string literal(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') result += '\'';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '\'';
}

std::string beginning(const fs::path& svg, std::string_view title, const simulation_report& report) {
  return fmt::format("set terminal svg size 960,600 background 'white' noenhanced\nset output {}\n"
                     "set title {}\nset grid\nset key outside right top\n",
                     literal(svg.string()),
                     literal(fmt::format("{}: {}, {}", title, report.workload, report.machine)));
}

std::string response_script(const simulation_report& report, const fs::path& svg) {
  std::string script = beginning(svg, "responses", report);
  script +=
      "set logscale x\nset xlabel 'response, us'\nset ylabel 'share that took no longer'\nset yrange [0:1]\n";
  std::string plots;
  for (std::size_t i = 0; i < report.profiles.size(); ++i) {
    histogram all;
    for (const simulation_result& r : report.profiles[i].runs) all.add(r.response);
    script += fmt::format("$of_{} << end\n", i);
    for (const auto& [ns, share] : all.cumulative())
      script += fmt::format("{:.6g} {:.8g}\n", ns / 1e3, share);
    if (all.count() == 0) script += "1 0\n";
    script += "end\n";
    plots += fmt::format("{}$of_{} using 1:2 with steps linewidth 2 title {}", i == 0 ? "" : ", ", i,
                         literal(report.profiles[i].profile));
  }
  return script + "plot " + plots + "\n";
}

std::string load_script(const simulation_report& report, const profile_runs& p, const fs::path& svg) {
  const auto& samples = p.runs.at(0).samples;
  const std::size_t groups = samples.front().load.size();
  std::string script = beginning(svg, "load under " + p.profile, report);
  script += "set xlabel 'time, ms'\nset ylabel 'tasks per worker'\nset yrange [0:*]\n$load << end\n";
  for (const auto& sample : samples) {
    script += fmt::format("{:.6g}", static_cast<double>(sample.time_ns) / 1e6);
    for (const float load : sample.load) script += fmt::format(" {:.5g}", load);
    script += '\n';
  }
  script += "end\n";
  if (groups > groups_with_names) script += "unset key\n";
  return script +
         fmt::format(
             "plot for [g=0:{}] $load using 1:(column(g+2)) with lines title sprintf('group %d', g)\n",
             groups - 1);
}

void draw(const fs::path& svg, const std::string& script) {
  const fs::path file = fs::path(svg).replace_extension(".gnuplot");
  std::ofstream out(file, std::ios::binary);
  out << script;
  out.close();
  if (!out) throw fs::filesystem_error("cannot write", file, std::error_code(errno, std::generic_category()));
  const int status = run_gnuplot(fs::absolute(file).string());
  if (status != 0) throw chart_error(fmt::format("gnuplot could not draw {}", file.string()));
}

} // namespace

void check_charts() {
  if (run_gnuplot("--version") != 0) throw chart_error("gnuplot is there, but `gnuplot --version` fails");
}

std::vector<fs::path> draw_charts(const simulation_report& report, const fs::path& directory,
                                  const std::string& name) {
  fs::create_directories(directory);
  std::vector<fs::path> drawn;
  drawn.push_back(directory / (name + "-response.svg"));
  draw(drawn.back(), response_script(report, drawn.back()));
  for (std::size_t i = 0; i < report.profiles.size(); ++i) {
    const profile_runs& p = report.profiles[i];
    if (p.runs.at(0).samples.empty() || p.runs[0].samples[0].load.empty()) continue;
    drawn.push_back(directory / fmt::format("{}-load-{}.svg", name, i + 1));
    draw(drawn.back(), load_script(report, p, drawn.back()));
  }
  return drawn;
}

} // namespace corewise
