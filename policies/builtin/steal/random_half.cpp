#include "random_half.hpp"

#include "steal_round.hpp"

// random_half: all workers in the order of ids, from one that is drawn; distance does not matter.
//
// The injection queues of other groups come after the workers, so that thieves also find tasks in a queue
// whose workers all block. With one queue for the engine there are no others.
//
// Source: Tokio, and Volt, which draws by xorshift64+ and multiply-shift; `placement_rng` draws as evenly.
//
// Cost: two cache lines a worker until a worker has something.

namespace corewise {
namespace {

class random_half final : public steal_policy {
 public:
  random_half(const locality_groups& groups, std::string_view name) noexcept : groups_(groups), name_(name) {}

  std::string_view name() const noexcept override { return name_; }

  bool visit(const load_view& loads, worker_id thief, placement_rng& rng, steal_effort /*effort*/,
             function_ref<bool(const steal_stop&)> try_steal) const noexcept override {
    const detail::steal_round round(groups_, loads, thief, try_steal);
    const worker_layout& layout = loads.layout();
    const auto workers = static_cast<std::uint32_t>(layout.size());
    const std::uint32_t start = rng.below(workers);
    for (std::uint32_t i = 0; i < workers; ++i) {
      const worker_id victim{start + i < workers ? start + i : start + i - workers};
      const group_id g = layout[victim].group;
      if (round.at_worker(g, victim.value - layout.of_group(g).front().id.value)) return true;
    }
    return round.at_injections();
  }

 private:
  const locality_groups& groups_;
  std::string_view name_;
};

} // namespace

std::unique_ptr<steal_policy> make_random_half(const locality_groups& groups,
                                               const worker_layout& /*workers*/, steal_start /*start*/) {
  return make_random_round(groups, random_half_name);
}

std::unique_ptr<steal_policy> make_random_round(const locality_groups& groups, std::string_view name) {
  return std::make_unique<random_half>(groups, name);
}

} // namespace corewise
