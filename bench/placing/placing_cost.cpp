// The cost of a decision where a task from outside goes, by number of workers, policy and state of the loads.
//
//   placing_cost [RUNS [json]]      medians of RUNS (default 15) measurements of each
//
// *Hot*: the same thread asks again and again and no other thread touches the boards. *Cold*: another core
// has just written every word of the boards, as busy workers do. The boards are copied often enough that the
// clock is read once for many decisions, and each decision waits for the one before, so that no miss is
// hidden behind another decision.

#include <corewise/policies/policy.hpp>
#include <corewise/policies/still_boards.hpp>
#include <corewise/topology/discovery.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

using namespace corewise;

namespace {

using monotonic = std::chrono::steady_clock;

/// How the workers of the home group, and with them all others, are loaded.
enum class state { one_idle, mixed, even };

const char* to_string(state s) {
  switch (s) {
  case state::one_idle: return "one idle";
  case state::mixed: return "mixed";
  case state::even: return "even";
  }
  return "";
}

/// Machines of `workers` cores, 16 at most to a cache, 64 at most to a package.
topology machine_of(std::uint32_t workers) {
  const std::uint32_t cores = std::min(workers, 16U);
  const std::uint32_t caches = std::min(workers / cores, 4U);
  const std::uint32_t packages = workers / cores / caches;
  machine_description description;
  description.source =
      synthetic_source{"pack:" + std::to_string(packages) + " numa:1 l3:" + std::to_string(caches) +
                       " core:" + std::to_string(cores) + " pu:1"};
  return discover(description);
}

void load(still_boards& boards, std::uint32_t workers, state s, std::uint32_t turn) {
  placement_rng rng(turn + 1);
  for (std::uint32_t w = 0; w < workers; ++w) {
    boards.set_load({w}, s == state::even ? 6 : 1 + rng.below(8));
  }
  if (s == state::one_idle) boards.set_load({rng.below(std::min(workers, 16U))}, 0);
}

/// Another thread that writes all boards when it is told to.
class other_core {
 public:
  other_core(std::vector<still_boards>& boards, std::uint32_t workers, state s)
      : thread_([&boards, workers, s, this] {
          for (std::uint32_t turn = 1;; ++turn) {
            while (wanted_.load(std::memory_order_acquire) < turn)
              if (over_.load(std::memory_order_relaxed)) return;
            for (still_boards& b : boards) load(b, workers, s, turn);
            done_.store(turn, std::memory_order_release);
          }
        }) {}
  ~other_core() {
    over_.store(true);
    thread_.join();
  }
  void write_all() {
    const std::uint32_t turn = wanted_.load() + 1;
    wanted_.store(turn, std::memory_order_release);
    while (done_.load(std::memory_order_acquire) != turn) {
    }
  }

 private:
  std::atomic<std::uint32_t> wanted_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

struct question {
  const policy& rule;
  task_origin origin;
  placement_rng rng;
  placement_cursor cursor;

  std::uint32_t ask(const load_view& view) { return rule.place(view, origin, {}, rng, cursor).worker.value; }
};

double ns_since(monotonic::time_point begin, std::size_t decisions) {
  return std::chrono::duration<double, std::nano>(monotonic::now() - begin).count() /
         static_cast<double>(decisions);
}

double median(std::vector<double>& v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

struct cost {
  double hot;
  double cold;
};

cost measure(const char* name, std::uint32_t workers, state s, int runs) {
  const topology machine = machine_of(workers);
  const locality_groups groups(machine, {});
  const worker_layout layout(machine, groups, {});
  const auto rule = make_policy(name, groups, layout, {});
  const std::size_t copies = std::clamp<std::size_t>(2048 / workers, 4, 64);
  std::vector<still_boards> boards;
  std::vector<load_view> views;
  for (std::size_t i = 0; i < copies; ++i) boards.emplace_back(groups, layout);
  for (still_boards& b : boards) {
    load(b, workers, s, 0);
    views.push_back(b.view());
  }
  question q{*rule, {.group = layout[{0}].group, .worker = {}}, placement_rng{7}, {}};
  std::vector<double> hot;
  std::vector<double> cold;
  volatile std::uint32_t sink = 0;
  for (int run = 0; run < runs; ++run) {
    constexpr std::size_t decisions = 20'000;
    const auto begin = monotonic::now();
    for (std::size_t i = 0; i < decisions; ++i) sink = q.ask(views.front());
    hot.push_back(ns_since(begin, decisions));
  }
  other_core other(boards, workers, s);
  for (int run = 0; run < runs * 40; ++run) {
    other.write_all();
    std::size_t at = 0;
    const auto begin = monotonic::now();
    while (at < copies) at += 1 + (q.ask(views[at]) >> 31);
    cold.push_back(ns_since(begin, copies));
  }
  static_cast<void>(sink);
  return {median(hot), median(cold)};
}

/// Measures the first reads of a decision, by themselves and hot: the bits of a group of 16 for an idle
/// worker, its levels for the lightest.
void measure_parts(int runs) {
  const topology machine = machine_of(16);
  const locality_groups groups(machine, {});
  const worker_layout layout(machine, groups, {});
  still_boards boards(groups, layout);
  load(boards, 16, state::one_idle, 0);
  const load_view view = boards.view();
  const group_board& board = view.board({0});
  volatile std::uint64_t sink = 0;
  const auto hot = [&](const auto& look) {
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
      constexpr std::size_t looks = 100'000;
      const auto begin = monotonic::now();
      for (std::size_t i = 0; i < looks; ++i) sink = look();
      times.push_back(ns_since(begin, looks));
    }
    return median(times);
  };
  const double idle = hot([&]() -> std::uint64_t {
    const std::uint64_t free = (board.spinning.word(0) | board.parked.word(0)) & ~board.unavailable.word(0);
    const auto place = static_cast<unsigned>(std::countr_zero(free));
    return free != 0 && board.levels.at(place) == 0 ? place : load_levels::no_worker;
  });
  const double scan = hot([&] { return board.levels.least_of(0, board.unavailable.word(0)).workers; });
  std::puts("| policy | loads | workers | hot ns | cold ns |\n|---|---|---|---|---|");
  std::printf("| an idle worker's bit and level | one idle | 16 | %.1f | |\n", idle);
  std::printf("| the least of a group's levels | mixed | 16 | %.1f | |\n", scan);
}

} // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 15;
  const bool json = count == 3 && words[2] == std::string_view("json");
  if (count > (json ? 3 : 2) || runs < 1) {
    std::fputs("usage: placing_cost [RUNS [json]]\n", stderr);
    return 2;
  }
  if (!json) measure_parts(runs);
  for (const char* name : {"nearest_lightest", "lightest", "two_choices"})
    for (const state s : {state::one_idle, state::mixed, state::even})
      for (std::uint32_t workers = 2; workers <= 1024; workers *= 2) {
        const cost c = measure(name, workers, s, runs);
        std::printf(json ? R"({"policy": "%s", "loads": "%s", "workers": %u, "hot": %.1f, "cold": %.1f})"
                           "\n"
                         : "| %s | %s | %u | %.1f | %.0f |\n",
                    name, to_string(s), workers, c.hot, c.cold);
        std::fflush(stdout);
      }
}
