#include "none.hpp"

// none: no worker steals. For purely local queues, one of the extremes that ZIO is measured against, and for
// Nio.

namespace corewise {
namespace {

class no_stealing final : public steal_policy {
 public:
  std::string_view name() const noexcept override { return no_stealing_name; }

  /// Cost: none.
  bool visit(const load_view& /*loads*/, worker_id /*thief*/, placement_rng& /*rng*/, steal_effort /*effort*/,
             function_ref<bool(const steal_stop&)> /*try_steal*/) const noexcept override {
    return false;
  }
};

} // namespace

std::unique_ptr<steal_policy> make_no_stealing(const locality_groups& /*groups*/,
                                               const worker_layout& /*workers*/, steal_start /*start*/) {
  return std::make_unique<no_stealing>();
}

} // namespace corewise
