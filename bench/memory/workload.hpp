#pragma once

#include <axes/finish_line.hpp>
#include <contender.hpp>
#include <held_workers.hpp>
#include <memory_use.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

// The memory that a pool takes. The figures:
//
//     worker   two processes whose pools differ by `--size` workers, each of which has run a task and rests
//              again: resident bytes for each of these workers, besides the resident pages of its stack (and
//              of its thread-local variables, which lie there)
//     task     while each worker is kept from its work, the program posts `--size` tasks with 32 bytes of
//              their own: by how many resident bytes the process has grown for each
//     queued   likewise: MB (10^6 bytes) resident in all
//
// Beside it: *stack*, resident bytes of a worker's stack; *heap*, the bytes from malloc for each.

namespace corewise::bench::memory {

constexpr std::uint64_t usual_size = 64;
/// How long a pool has to come to rest.
constexpr std::chrono::milliseconds rest{200};

struct use {
  double resident = 0; // besides stacks
  double stacks = 0;
  double heap = 0;
};

template <class Pool> use use_at_rest(options o, std::uint64_t workers) {
  o.workers = static_cast<std::uint32_t>(workers);
  Pool pool(o);
  const std::vector<stack_range> stacks = held_workers<Pool>(pool, o.workers).stacks();
  std::this_thread::sleep_for(rest);
  use u;
  for (const stack_range& s : stacks) u.stacks += s.resident();
  u.resident = resident_bytes() - u.stacks;
  u.heap = heap_bytes();
  return u;
}

/// Measures in a process of its own, whose memory nothing else has used before. This process must have no
/// other thread.
template <class Pool> use use_of_a_process(const options& o, std::uint64_t workers) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    const use u = use_at_rest<Pool>(o, workers);
    ::_exit(::write(ends[1], &u, sizeof u) == sizeof u ? 0 : 1);
  }
  ::close(ends[1]);
  use u;
  const bool told = ::read(ends[0], &u, sizeof u) == sizeof u;
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0 || !told)
    throw std::runtime_error("a process with " + std::to_string(workers) + " workers failed");
  return u;
}

template <class Pool> int print_worker(const options& o) {
  const use few = use_of_a_process<Pool>(o, o.workers);
  const use many = use_of_a_process<Pool>(o, o.workers + o.size);
  const auto more = static_cast<double>(o.size);
  const std::string profile = Pool(o).profile();
  return print_figure(
      {"memory-worker", Pool::name, "closure", profile}, o, "bytes", (many.resident - few.resident) / more,
      {o.size, o.size},
      {{"stack", (many.stacks - few.stacks) / more}, {"heap", (many.heap - few.heap) / more}});
}

/// The sum of all that the tasks see.
constexpr std::uint64_t sum_of(std::uint64_t tasks) { return 2 * tasks * (tasks + 1); }

template <class Pool> int print_queued(const options& o, bool of_a_task) {
  Pool pool(o);
  command::finish_line end(o.size);
  double resident = 0;
  double grown = 0;
  double heap = 0;
  const auto post = [&](command::finish_line& to, std::uint64_t a) {
    const auto task = [to = &to, a, b = a, c = 2 * a] { to->cross(a + b + c); };
    static_assert(sizeof task == 32);
    pool.post(task);
  };
  command::finish_line first(1); // what it brings into memory, code for the most part, is no task's
  post(first, 0);
  static_cast<void>(first.wait());
  {
    const held_workers<Pool> held(pool, o.workers);
    static_cast<void>(resident_bytes()); // the first look brings code of its own into memory
    const double resident_before = resident_bytes();
    const double heap_before = heap_bytes();
    for (std::uint64_t i = 1; i <= o.size; ++i) post(end, i);
    resident = resident_bytes();
    grown = resident - resident_before;
    heap = heap_bytes() - heap_before;
  }
  const tally seen{end.wait(), sum_of(o.size)};
  const auto tasks = static_cast<double>(o.size);
  if (of_a_task)
    return print_figure({"memory-task", pool.name, "closure", pool.profile()}, o, "bytes", grown / tasks,
                        seen, {{"heap", heap / tasks}});
  return print_figure({"memory-queued", pool.name, "closure", pool.profile()}, o, "MB", resident / 1e6, seen);
}

template <class Pool> int run(int count, char** words) {
  const options o = options_of(count, words, usual_size);
  try {
    if (o.figure == "worker") return print_worker<Pool>(o);
    if (o.figure == "task" || o.figure == "queued") return print_queued<Pool>(o, o.figure == "task");
    std::fputs("--figure: worker, task or queued\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory: %s\n", error.what());
    return 1;
  }
}

} // namespace corewise::bench::memory
