#include "threads/cpu_claims.hpp"

#include "base/per_process.hpp"

#include <corewise/engine/detail/lock.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace corewise::detail {

namespace {

struct claims {
  detail::mutex mutex;
  std::vector<std::unique_ptr<cpu_set>> all;
};

constinit per_process<claims> process_claims;

} // namespace

cpu_claim::cpu_claim(cpu_set cpus) {
  claims& others = process_claims.get();
  const std::scoped_lock lock(others.mutex);
  for (const auto& other : others.all) overlap_ |= cpus & *other;
  others.all.push_back(std::make_unique<cpu_set>(std::move(cpus)));
  key_ = others.all.back().get();
}

cpu_claim::cpu_claim(cpu_claim&& other) noexcept
    : key_(std::exchange(other.key_, nullptr)),
      overlap_(std::move(other.overlap_)) {}

cpu_claim& cpu_claim::operator=(cpu_claim&& other) noexcept {
  std::swap(key_, other.key_);
  std::swap(overlap_, other.overlap_);
  return *this;
}

cpu_claim::~cpu_claim() {
  if (key_ == nullptr) return;
  claims& others = process_claims.get();
  const std::scoped_lock lock(others.mutex);
  std::erase_if(others.all, [&](const auto& one) { return one.get() == key_; });
}

} // namespace corewise::detail
