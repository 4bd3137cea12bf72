// A cache for each locality group: its workers share it, on their own memory node, and no line of it ever
// crosses the machine.
#include <corewise/engine/engine.hpp>
#include <corewise/engine/group_local.hpp>

#include <atomic>
#include <cstdio>
#include <memory_resource>
#include <mutex>
#include <string>
#include <unordered_map>

namespace {

class name_cache {
 public:
  explicit name_cache(std::pmr::memory_resource& memory) : names_(&memory) {}

  /// The name of n, looked up once by each group.
  std::pmr::string find(int n) {
    const std::scoped_lock lock(mutex_);
    auto [at, is_new] = names_.try_emplace(n);
    if (is_new) {
      at->second = "name " + std::to_string(n); // from far away
      ++misses_;
    }
    return at->second;
  }
  int misses() const { return misses_; }

 private:
  std::mutex mutex_;
  std::pmr::unordered_map<int, std::pmr::string> names_;
  int misses_ = 0;
};

} // namespace

int main() {
  corewise::profile two_sockets; // described, so that the output is the same everywhere
  two_sockets.topology.machine.source = corewise::synthetic_source{"pack:2 numa:1 l3:1 core:2 pu:1"};
  corewise::engine engine(two_sockets);

  corewise::group_local<name_cache> caches(
      engine, [](std::pmr::memory_resource& memory) { return name_cache(memory); });
  std::atomic<int> right{0};
  for (int request = 0; request < 10'000; ++request) {
    const auto answer = [&, n = request % 100] {
      if (caches.local().find(n).ends_with(' ' + std::to_string(n))) ++right;
    };
    // A client's requests come from one socket or the other.
    const corewise::hint from{.package = static_cast<std::uint32_t>(request / 100 % 2)};
    if (engine.submit(answer, from) != corewise::submit_result::accepted) return 1;
  }
  engine.drain();

  int misses = 0;
  caches.for_each([&](const name_cache& c) { misses += c.misses(); });
  std::printf("%d answers, at most 100 misses for each of %zu groups: %s\n", right.load(),
              engine.groups().size(), misses <= 200 ? "yes" : "no");
}
