#include "books/sampling.hpp"

#include "recording/task_identity.hpp"

namespace corewise::detail {

void stamp(task_header& t, bool by_driver) noexcept {
  const auto now = monotonic::now();
  execution& here = this_execution;
  const bool begins = here.draw == 0; // the first task of a thread: as likely a sample as others
  if (begins) here.draw = static_cast<std::uint32_t>(now.time_since_epoch().count());
  here.draw = here.draw * 1'664'525 + 1'013'904'223;
  here.until_sample = 1 + (here.draw >> 16) % 127;
  if (begins && (here.draw >> 8) % 64 != 0) return;
  t.queued_at = queue_stamp::at(now, by_driver);
  t.relocatable = false; // a copy would have no stamp
}

void record_queued(task_header& t, const engine_number& of) noexcept {
  t.relocatable = false; // a copy would be another task
  const wait_record* const wait = wait_of(t);
  record(event_code::queued, of, 0, identity_of(t), wait != nullptr ? 1 + std::uint64_t(wait->kind) : 0);
}

} // namespace corewise::detail
