#include "digest/digest_run.hpp"
#include "digest/report.hpp"
#include "exit_status.hpp"
#include "machine_options.hpp"
#include "streams.hpp"
#include "subcommands.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace corewise::command {

namespace {

struct digest_options {
  machine_options machine;
  std::string root;
  bool report = false;
};

/// Makes room for threads where address space is limited: a thread reserves 8 MiB of stack, and 64 MiB for a
/// heap of its own, unless told otherwise. Call it before any thread starts.
void be_small() {
  ::mallopt(M_ARENA_MAX, 4);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, std::size_t{512} * 1024);
  ::pthread_setattr_default_np(&small);
  ::pthread_attr_destroy(&small);
}

void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

/// The profile without the limits that would hold the lanes up, which bound themselves.
profile suited(profile p) {
  p.limits.in_flight = 0;
  p.blocking.spares_max = std::min(p.blocking.spares_max, std::uint32_t{32});
  return p;
}

/// Notes that the root is a symbolic link. `find` prints nothing then, which puzzles people.
void note_symbolic_link(const std::string& root) {
  struct stat facts{};
  if (::lstat(root.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode))
    complain(fmt::format("{}: is a symbolic link, which is not followed; {}/ is the directory behind it",
                         escaped(root), escaped(root)));
}

void print_report(const engine& e, const digest_options& options, const digest_count& count,
                  std::chrono::duration<double> took) {
  if (options.machine.format == output_format::for_programs)
    print_beside(e.metrics().to_json() + "\n");
  else
    print_beside(report_of(e, count, took));
}

int run_digest(const digest_options& options) {
  be_small();
  allow_many_files();
  const profile p = options.machine.configured();
  if (refuse_workers(p)) return wrong_usage;
  const auto begin = std::chrono::steady_clock::now();
  engine e(suited(p));
  note_symbolic_link(options.root);
  digest_run work(e, ::isatty(STDERR_FILENO) == 1);
  const bool complete = work.run(options.root);
  e.drain();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (options.report) print_report(e, options, work.count(), took);
  return complete ? done : refused;
}

} // namespace

void add_digest(CLI::App& run, action& chosen) {
  auto options = std::make_shared<digest_options>();
  CLI::App* app = run.add_subcommand(
      "digest", "Compute the SHA-256 of every regular file of a tree, and print it as sha256sum does");
  app->add_option("DIR", options->root, "The tree; symbolic links are not followed")->required();
  app->add_flag("--report", options->report, "Show on standard error the workers on which the tasks ran");
  add_machine_options(*app, options->machine);
  app->footer("Files are read as blocking calls and hashed as tasks; the lines come in any order. Files "
              "that\n"
              "cannot be read are named on standard error, and the exit status is then 1.\n\n"
              "Examples:\n"
              "  corewise run digest /usr/share | sort -k2 > before\n"
              "  corewise run digest --report --workers 4 /srv\n"
              "  corewise run digest . | sha256sum --check --quiet");
  app->callback([options, &chosen] { chosen = [options] { return run_digest(*options); }; });
}

} // namespace corewise::command
